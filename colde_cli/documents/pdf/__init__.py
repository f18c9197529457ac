"""Read PDFs into a `Document`: reader processes, lines, layout and paragraphs."""
