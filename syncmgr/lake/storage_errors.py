"""Which error code the raw error of the lake's storage or of the JVM gets.

Owns: Java's classes and words -> codes of ours.
Must not know: exceptions, what a code does to a job (job/failure.py).
"""

from collections.abc import Mapping
from typing import Final

from syncmgr.errors import Code

# Searched in everything that Java reported, causes included, in this order. The first words are the disk's own.
LAKE_WORDS: Final[Mapping[str, Code]] = {
    "No space left on device": Code.LAKE_FULL,
    "Disk quota exceeded": Code.LAKE_FULL,
    "[SQLITE_FULL]": Code.LAKE_FULL,
    "[SQLITE_CORRUPT]": Code.LAKE_DAMAGED,
    "[SQLITE_NOTADB]": Code.LAKE_DAMAGED,
    "[SQLITE_READONLY": Code.LAKE_DENIED,
    "Permission denied": Code.LAKE_DENIED,
    "Read-only file system": Code.LAKE_DENIED,
    "java.nio.file.AccessDeniedException": Code.LAKE_DENIED,
    "org.apache.hadoop.security.AccessControlException": Code.LAKE_DENIED,
    "org.apache.iceberg.exceptions.ForbiddenException": Code.LAKE_DENIED,
    "org.apache.iceberg.exceptions.NotAuthorizedException": Code.LAKE_DENIED,
    "Mkdirs failed to create": Code.LAKE_DENIED,  # Hadoop's words for a folder, with no reason in them
}


def of_lake(text: str) -> Code:
    """Of everything that Java or the disk reported; an unknown error may be transient."""
    return next((code for words, code in LAKE_WORDS.items() if words in text), Code.LAKE_FAILED)
