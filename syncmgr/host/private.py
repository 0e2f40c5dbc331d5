"""What only the frontend's user may read.

Owns: the umask, who else may read a file, the names that mean a secret, which environment variables are secrets.
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
    """Files that this process and its children create from now on are private to their user."""
    os.umask(UMASK)


def is_secret(name: str) -> bool:
    """Whether the value of a setting, or of a variable of the environment, that has this name is a secret."""
    return _SECRET.search(name) is not None


def seen_by_others(path: Path) -> int | None:
    """Its mode if other users of this machine have access to it; None if they do not, or if it does not exist.

    A group may read another user's file: that is how we read it.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    mode = stat.S_IMODE(found.st_mode)
    return mode if mode & (UMASK if found.st_uid == os.geteuid() else OTHERS) else None


def without_secrets(environment: MutableMapping[str, str]) -> dict[str, str]:
    """Removes the secrets from an environment, and returns them; the drivers of the metadata keep theirs."""
    return {name: environment.pop(name) for name in list(environment) if is_secret(name) and name not in OF_METADATA}
