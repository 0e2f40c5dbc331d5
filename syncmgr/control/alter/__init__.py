"""How ALTER SYNC JOB, and tables that join by themselves, change a stored job."""
