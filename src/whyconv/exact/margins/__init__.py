"""Separators of least norm and soft margins, accepted only with a proof."""
