"""The statements: frozen values that print themselves."""
