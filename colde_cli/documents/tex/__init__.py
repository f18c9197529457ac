"""LaTeX to a `Document`."""
