"""Whether a server can go on from a job's position."""
