"""What each statement does, and the table of all of them."""
