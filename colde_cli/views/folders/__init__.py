"""Two folders: in the terminal, as plain text, Markdown, CSV, JSON and as an HTML page."""
