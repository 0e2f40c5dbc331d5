"""A canal server as a source."""
