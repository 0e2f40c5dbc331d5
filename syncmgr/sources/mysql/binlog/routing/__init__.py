"""The parts of the router: places, GTIDs, the open transaction, and what each kind of event does to them."""
