"""Malach & Shalev-Shwartz, *Computational Separation Between Convolutional and Fully-Connected Networks*."""

from whyconv.published import Paper

PAPER = Paper(
    authors=("Malach, Eran", "Shalev-Shwartz, Shai"),
    title="Computational Separation Between Convolutional and Fully-Connected Networks",
    year=2021,
    venue="International Conference on Learning Representations (ICLR)",
    arxiv="2010.01369",
    read=(
        "Judged here: two versions, a first one with its appendix and a later one without; 'printed' is "
        "the later one, and a claim says so where the first differs."
    ),
)
