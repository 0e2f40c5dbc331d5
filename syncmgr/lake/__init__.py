"""The lake: Iceberg tables, and the Spark that writes and reads them."""
