"""A comparison as a Word file with tracked changes."""
