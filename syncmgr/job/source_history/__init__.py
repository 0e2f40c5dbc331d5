"""Whether a source has everything that is to be read, and how far it is read."""
