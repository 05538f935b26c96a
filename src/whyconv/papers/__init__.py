"""One folder per paper: claims, studies, its own exact mathematics, pictures, and a README that maps it."""
