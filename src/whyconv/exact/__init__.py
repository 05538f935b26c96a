"""What needs no sampling: laws, closed forms, dimensions and bounds, in float64 NumPy."""
