"""Families of documents: in the terminal, as Markdown, CSV, JSON and as an HTML page."""
