"""The paper's own mathematics, in float64 NumPy and exact fractions."""
