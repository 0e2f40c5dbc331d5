"""Users, what they may do, and how secrets are kept."""
