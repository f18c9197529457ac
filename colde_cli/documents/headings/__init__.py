"""Headings of a document that says only how its lines look."""
