"""Read LaTeX into a `Document`."""
