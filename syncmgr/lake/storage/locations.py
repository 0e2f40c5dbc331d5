"""Which locations are on the local disk, and where the copies of all others are kept on it.

Owns: how a location becomes a path.
Must not know: what a file holds, how it is copied.
"""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, Protocol

SPECIAL: Final = {"": "%", ".": "%2E", "..": "%2E%2E"}  # names of which a path makes something else


def is_local(location: str) -> bool:
    """Whether Hadoop looks for a file on the local disk."""
    scheme, colon, _ = location.partition(":")
    return not colon or "/" in scheme or scheme.lower() == "file"


def local(location: str) -> Path:
    """A file of the local disk, where Hadoop's Path looks for it: neither % nor ? nor # means anything there. Raises
    ValueError for any other.
    """
    scheme, colon, rest = location.partition(":")
    if not colon or "/" in scheme:
        return Path(location)
    if scheme.lower() != "file":
        raise ValueError(f"{location} is not on a local disk")
    return Path(f"/{rest[2:].partition('/')[2]}" if rest.startswith("//") else rest)


class FileReader(Protocol):
    """Gives the content of files, by their locations. Raises OSError, and errors of Java."""

    def whole(self, location: str) -> AbstractContextManager[Path]:
        """As a file of the local disk."""

    def part(self, location: str, offset: int, length: int) -> bytes: ...


class OnDisk:
    """Of the local disk."""

    def whole(self, location: str) -> AbstractContextManager[Path]:
        return nullcontext(local(location))

    def part(self, location: str, offset: int, length: int) -> bytes:
        with local(location).open("rb") as file:
            file.seek(offset)
            return file.read(length)


ON_DISK: Final = OnDisk()


def copy_of(location: str, folder: Path) -> Path:
    """Where in a folder the copy of a file, or of a folder, that is not on the local disk belongs; those inside of a
    folder are inside of its copy.
    """
    scheme, _, rest = location.partition(":")
    return folder.joinpath(scheme, *(SPECIAL.get(part, part.replace("%", "%25")) for part in rest.split("/")))
