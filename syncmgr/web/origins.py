"""Whether a request that changes something comes from our own page, or from no page at all.

Owns: the rule.
Must not know: HTTP servers, who asks.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

OWN: Final = frozenset({"same-origin", "none"})  # the second: typed by a person, or no browser
JSON: Final = "application/json"


def foreign(headers: Mapping[str, str]) -> str | None:
    """Why it is refused; None: it is not. `headers`: by their names in lower case."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        return f"The content-type of a request that changes something is {JSON}"
    site = headers.get("sec-fetch-site")
    if site is not None and site not in OWN:
        return "A page of another site cannot change anything here"
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
        return "A page of another site cannot change anything here"
    return None
