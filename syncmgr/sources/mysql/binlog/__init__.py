"""The binlog as a stream: events, transactions, positions."""
