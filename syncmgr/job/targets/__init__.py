"""What an operator may change of the tables that jobs fill."""
