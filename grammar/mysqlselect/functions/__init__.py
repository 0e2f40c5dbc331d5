"""MySQL's functions, each with its equal in Spark."""
