"""Runs missing trials and keeps their rows."""
