"""Who a client is: the handshake, TLS, passwords and the brake on guessing them."""
