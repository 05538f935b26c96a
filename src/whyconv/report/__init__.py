"""Figures and the HTML page, all made from stored rows."""
