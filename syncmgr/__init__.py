"""SQL sync jobs from MySQL binlogs into lakehouse tables."""

__version__ = "0.1.0"
