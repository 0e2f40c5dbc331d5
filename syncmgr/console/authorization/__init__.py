"""The rest of the program, as far as one account may use and see it."""
