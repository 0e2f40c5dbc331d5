"""Compaction, folding and expiry."""
