"""The dump of a server: its connection and its packets."""
