"""Files below a folder in which a frontend goes on making and deleting them.

Owns: a listing that deletions do not abort.
Must not know: whose files they are.
"""

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path


def below(folder: Path, pattern: str = "*") -> Iterator[Path]:
    """Files and folders with such a name; `Path.rglob` fails if a folder is deleted between its name and its
    content.
    """
    for parent, folders, files in os.walk(folder):
        yield from (Path(parent, name) for name in (*folders, *files) if fnmatch(name, pattern))
