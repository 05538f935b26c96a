"""Brutzkus & Globerson, *An Optimization and Generalization Analysis for Max-Pooling Networks*."""
