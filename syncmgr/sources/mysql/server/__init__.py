"""What is queried from a MySQL or MariaDB server besides its binlog."""
