"""What is measured of a frontend and its jobs, and the metrics that say so."""
