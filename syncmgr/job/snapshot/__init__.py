"""Chunks of rows, and the places in the binlog between which they are read."""
