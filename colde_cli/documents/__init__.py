"""Read bytes into a `Document`, and cut it into sections, chunks and passages."""
