"""Types of MySQL and what becomes of them in the lake."""
