"""Exact results for the task ``signal``: law, moments, risks, the Bayes rule."""
