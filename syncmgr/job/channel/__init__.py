"""One table of a job: its source, its target, its state."""
