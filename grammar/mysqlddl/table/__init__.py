"""What stands in CREATE TABLE and ALTER TABLE."""
