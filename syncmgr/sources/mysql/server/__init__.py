"""What is asked of a MySQL or MariaDB server beside its binlog."""
