"""Brutzkus & Globerson, *An Optimization and Generalization Analysis for Max-Pooling Networks*."""

from whyconv.published import Paper

PAPER = Paper(
    authors=("Brutzkus, Alon", "Globerson, Amir"),
    title="An Optimization and Generalization Analysis for Max-Pooling Networks",
    year=2021,
    venue="Uncertainty in Artificial Intelligence (UAI)",
    arxiv="2002.09781",
    read="Judged here: the full text with its appendix.",
)
