"""What ALTER SYNC JOB, and tables that come by themselves, make of a stored job."""
