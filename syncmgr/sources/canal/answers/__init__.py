"""What canal's answers mean: when it is starved, when nothing is missing."""
