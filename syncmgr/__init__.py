"""SQL sync jobs from MySQL binlogs into lakehouse tables."""
