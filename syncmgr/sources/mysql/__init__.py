"""The MySQL source: binlog stream, decoder, checks."""
