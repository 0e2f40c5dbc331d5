"""What the doors call: jobs, their statements, their tables, and who may see what."""
