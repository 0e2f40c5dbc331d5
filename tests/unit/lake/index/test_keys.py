"""Where a file of the lake lies."""
