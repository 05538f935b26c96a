"""The command line, a thin skin over :mod:`whyconv.api`: commands, listings, progress, tables."""
