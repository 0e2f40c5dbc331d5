"""Which servers a lake elsewhere asks: what Java says of a failure often names none.

Owns: which part of which setting names one, and that nothing else of it is shown.
Must not know: what failed, and why.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from syncmgr.errors import Code, SyncError

_HOSTS: Final = re.compile(r"//((?:(?!,\w+://)[^/?#;@])+)(?=[/?#;,]|$)")
_USER: Final = re.compile(r"//[^/?#;@]*@")
_NAMED: Final = {"uri": "catalog", "glue.endpoint": "catalog", "s3.endpoint": "store"}


def servers(catalog: Mapping[str, str]) -> str:
    """Hosts and ports of a catalog's settings, as `catalog HOST:PORT, store HOST:PORT`; "" if none is named."""
    found = {what: _hosts(catalog[key]) for key, what in _NAMED.items() if key in catalog}
    return ", ".join(f"{what} {hosts}" for what, hosts in found.items() if hosts)


def _hosts(uri: str) -> str:
    """Empty where they cannot be told for certain from a password, which may hold any character."""
    plain = _USER.sub("//", uri)
    return "" if "@" in plain else ",".join(_HOSTS.findall(plain))


@contextmanager
def naming(named: str) -> Iterator[None]:
    """A lake that failed is reported with its servers, if there are any."""
    try:
        yield
    except SyncError as error:
        if not named or error.code is not Code.LAKE_FAILED:
            raise
        raise SyncError(error.code, reason=f"{error.context['reason']} ({named})") from error
