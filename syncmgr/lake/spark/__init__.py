"""The engine: a JVM, its start and its end, and what it runs."""
