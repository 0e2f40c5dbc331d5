"""What operators are told without asking: which conditions are alerts, and what is sent of them."""
