"""The rows of a chunk: a prepared SELECT, and its answer in MySQL's binary protocol as Arrow."""
