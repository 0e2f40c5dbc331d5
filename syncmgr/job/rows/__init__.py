"""Rows on their way: batches, routing, refused values."""
