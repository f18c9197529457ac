"""Web pages to a `Document`."""
