"""By which names the HTTP door may be called.

Owns: the rule against DNS rebinding: a page of another site that makes its own name mean this address is refused.
Must not know: HTTP, settings.
"""

import ipaddress
from collections.abc import Collection
from typing import Final

LOCAL: Final = frozenset({"localhost", "localhost.localdomain"})


def may_call(header: str | None, own: Collection[str]) -> bool:
    """`header`: Host of a request, with or without a port. `own`: further names, in lower case. Addresses are no names:
    nobody can make them mean another machine.
    """
    name = _without_port(header or "").lower().rstrip(".")
    return name in LOCAL or name in own or _is_address(name)


def _without_port(header: str) -> str:
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.rpartition(":")[0] if header.count(":") == 1 else header


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
