"""The parts of an expression: each kind of sqlglot's node, and what it is in Spark's words."""
