"""Bytes to `Document`: readers, headings, sections and chunks."""
