"""Copies of metadata, lake and staging of one moment, and their restore."""
