"""Iceberg's API: tables, metadata, manifests and files."""
