"""What belongs to the frontend's user alone.

Owns: the umask, who else may read a file, the names that mean a secret, which of the environment are such.
Must not know: which files and settings there are.
"""

import os
import re
import stat
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

UMASK: Final = 0o077
OTHERS: Final = 0o007
OF_METADATA: Final = frozenset({"PGPASSWORD"})  # read by the driver of a meta_url
_SECRET: Final = re.compile(
    r"secret|passw|passphrase|token|credential|signature"
    r"|(?:access|account|api|private|storage|encryption)[._-]?key|connection[._-]?string|_pwd$",
    re.IGNORECASE,
)


def keep_private() -> None:
    """Whatever this process and its children make from now on is their user's alone."""
    os.umask(UMASK)


def is_secret(name: str) -> bool:
    """Whether the value of a setting, or of a variable of the environment, that has this name is a secret."""
    return _SECRET.search(name) is not None


def seen_by_others(path: Path) -> int | None:
    """Its mode where other users of this machine get at it; None where they do not, or where it is not there.

    A group may read what is somebody else's: that is how we read it.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    mode = stat.S_IMODE(found.st_mode)
    return mode if mode & (UMASK if found.st_uid == os.geteuid() else OTHERS) else None


def without_secrets(environment: MutableMapping[str, str]) -> dict[str, str]:
    """Takes the secrets out of an environment, and returns them; the drivers of the metadata keep theirs."""
    return {name: environment.pop(name) for name in list(environment) if is_secret(name) and name not in OF_METADATA}
