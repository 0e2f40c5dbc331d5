"""What is advised, and to which kind of job."""
