"""The rows that existed before the binlog is read."""
