"""A kind of source that is a folder: tables.json and changes.jsonl, one transaction per line.

It shows what another source takes: this folder, and one line in the registry, which `__main__` adds.
"""
