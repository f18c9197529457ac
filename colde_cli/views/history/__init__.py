"""The history of a document: in the terminal, as plain text, Markdown, JSON and as an HTML page."""
