"""A target as CREATE TABLE describes it, in the words of Iceberg."""
