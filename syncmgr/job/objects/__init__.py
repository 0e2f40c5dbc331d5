"""Objects of a server that a statement may reach: views, triggers, functions, foreign keys."""
