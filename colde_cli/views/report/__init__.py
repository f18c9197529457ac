"""A comparison as one HTML page: Python turns it into plain data, a template, style and scripts lie beside it."""
