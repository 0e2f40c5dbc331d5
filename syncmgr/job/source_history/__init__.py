"""Whether a source has all that is to be read, and how far it is read."""
