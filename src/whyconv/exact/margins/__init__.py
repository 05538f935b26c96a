"""Separators of least norm and soft margins, each accepted with its proof only."""
