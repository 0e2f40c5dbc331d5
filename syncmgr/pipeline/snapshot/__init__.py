"""The rows that were there before the binlog is read."""
