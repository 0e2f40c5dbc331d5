"""One epoch, chunk or statement into one table, exactly once."""
