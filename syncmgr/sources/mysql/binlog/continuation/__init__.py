"""Whether a server can go on where a job stands."""
