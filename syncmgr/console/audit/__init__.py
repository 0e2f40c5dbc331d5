"""Who did what: the audit log, what is noted in it in advance, and what must not appear in it."""
