"""Who did what: the audit log, what is noted in it first, and what must not stand in it."""
