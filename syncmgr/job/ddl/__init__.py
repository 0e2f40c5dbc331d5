"""DDL statements of the source, and what becomes of them."""
