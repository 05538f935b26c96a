"""The statements of the paper, each with its check and its control."""
