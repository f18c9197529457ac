"""PDF to Document: a reader process, its lines, their layout, paragraphs and headings."""
