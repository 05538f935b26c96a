"""Lahoti et al., *Role of Locality and Weight Sharing in Image-Based Tasks*, from secondary sources."""

from whyconv.published import Paper

PAPER = Paper(
    authors=("Lahoti, Aakash", "Karp, Stefani", "Winston, Ezra", "Singh, Aarti", "Li, Yuanzhi"),
    title=(
        "Role of Locality and Weight Sharing in Image-Based Tasks: "
        "A Sample Complexity Separation between CNNs, LCNs, and FCNs"
    ),
    year=2024,
    venue="International Conference on Learning Representations (ICLR)",
    arxiv="2403.15707",
    read=(
        "Judged here: the abstract, a summary and the authors' discussion page; the full text was not "
        "at hand."
    ),
)
