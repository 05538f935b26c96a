"""Getting missing trials done and keeping their rows."""
