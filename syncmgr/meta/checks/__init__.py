"""What checks have found."""
