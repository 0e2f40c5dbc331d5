"""What operators are notified of: which conditions are alerts, and what is sent of them."""
