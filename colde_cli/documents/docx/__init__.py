"""Word documents (Office Open XML) to a `Document`."""
