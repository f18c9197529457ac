"""OpenDocument texts (LibreOffice Writer) to a `Document`."""
