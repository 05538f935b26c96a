"""Malach & Shalev-Shwartz, *Computational Separation Between Convolutional and Fully-Connected Networks*."""
