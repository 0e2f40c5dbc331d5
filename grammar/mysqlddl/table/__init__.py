"""The contents of CREATE TABLE and ALTER TABLE."""
