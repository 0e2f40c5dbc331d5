"""SHOW, DESC and information_schema."""
