"""A kind of source that is a folder: tables.json and changes.jsonl, a transaction a line.

It is what another source would be: this folder, and one line in the registry, which `__main__` adds.
"""
