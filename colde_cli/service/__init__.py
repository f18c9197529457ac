"""colde for other programs: over HTTP, and as tools of an agent. Thin over `api.py` and the views."""
