"""SELECT: a JVM of its own, separate from the one that commits."""
