"""Where changes come from: one folder a kind of source."""
