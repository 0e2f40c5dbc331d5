"""What somebody with few rights can do to the console, each again and again: `python -m tests.attacks NAME PORT`."""
