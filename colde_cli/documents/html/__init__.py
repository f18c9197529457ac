"""Read web pages into a `Document`."""
