"""The figures and open questions of the paper."""
