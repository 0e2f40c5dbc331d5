"""Where each key of a table is."""
