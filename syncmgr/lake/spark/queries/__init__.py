"""SELECT: a JVM of its own, beside the one that commits."""
