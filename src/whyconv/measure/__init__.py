"""Estimates from rows: intervals, paired differences, curves. Statistics come from SciPy."""
