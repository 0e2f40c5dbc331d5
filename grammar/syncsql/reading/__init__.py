"""From tokens to statements, a module for each kind of statement."""
