"""The lake: Spark and Iceberg."""
