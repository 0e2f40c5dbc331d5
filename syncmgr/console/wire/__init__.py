"""MySQL's protocol: packets, messages, types and results."""
