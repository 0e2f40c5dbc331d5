"""The parts of the sorter: the places of entries, the open transaction, what goes out."""
