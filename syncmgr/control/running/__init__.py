"""The runs of jobs: when they start and end, and what they report."""
