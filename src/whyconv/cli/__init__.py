"""The command line, a thin layer over :mod:`whyconv.api`: commands, listings, tables."""
