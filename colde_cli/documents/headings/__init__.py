"""Find headings in a document that is known only by the look of its lines."""
