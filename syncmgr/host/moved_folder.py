"""A folder that is at another place than before.

Owns: where a path that is written down is now.
Must not know: which files write paths down.
"""

from dataclasses import dataclass
from pathlib import Path


class NotMovableError(ValueError):
    """A file that names something it should not, or in an unknown form."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """From one absolute folder to another."""

    old: Path
    new: Path

    def relative(self, location: str) -> Path:
        """The path of a file below the old folder. Raises NotMovableError if it is not there."""
        for prefix in self._prefixes():
            if location.startswith(prefix):
                return Path(location[len(prefix) :])
        raise NotMovableError(f"'{location}' is not in {self.old}")

    def moved(self, location: str) -> str:
        """Raises NotMovableError if it is not below the old folder."""
        for prefix in self._prefixes():
            if location == prefix[:-1] or location.startswith(prefix):
                scheme = prefix[: -len(f"{self.old}/")]
                return f"{scheme}{self.new}{location[len(prefix) - 1 :]}"
        raise NotMovableError(f"'{location}' is not in {self.old}")

    def _prefixes(self) -> tuple[str, ...]:
        return tuple(f"{scheme}{self.old}/" for scheme in ("", "file:", "file://"))
