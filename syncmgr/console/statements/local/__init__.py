"""SELECT that needs no lake: answered by an SQLite in memory."""
