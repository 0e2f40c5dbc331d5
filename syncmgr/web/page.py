"""The page: its files, as they are shipped.

Owns: their types, their address, which changes with any of them, how they are compressed.
Must not know: what the page shows.
"""

import gzip
import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

FOLDER: Final = Path(__file__).parent / "static"
INDEX: Final = "index.html"
PLACE: Final = b"STATIC"  # in the index, where the address of the files goes
TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
)
FOREVER: Final = "public, max-age=31536000, immutable"


class Page:
    """Read once; a name that is not among the files is not there."""

    def __init__(self, folder: Path = FOLDER) -> None:
        files = {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.suffix in TYPES}
        self.version = hashlib.sha256(b"\0".join(files.values())).hexdigest()[:16]
        files[INDEX] = files[INDEX].replace(PLACE, f"/static/{self.version}".encode())
        self._files = {name: (body, gzip.compress(body, mtime=0)) for name, body in files.items()}

    def routes(self) -> list[Route]:
        return [Route("/", self._index), Route("/static/{version}/{name}", self._static)]

    async def _index(self, request: Request) -> Response:
        return self._sent(INDEX, request, "no-cache")

    async def _static(self, request: Request) -> Response:
        """Only of this version: an open page of an older one is not mixed with it."""
        name = request.path_params["name"]
        if request.path_params["version"] != self.version or name not in self._files or name == INDEX:
            return PlainTextResponse("Not Found", 404)
        return self._sent(name, request, FOREVER)

    def _sent(self, name: str, request: Request, cache: str) -> Response:
        plain, small = self._files[name]
        packs = "gzip" in request.headers.get("accept-encoding", "")
        headers = {"cache-control": cache, "vary": "accept-encoding"}
        headers |= {"content-encoding": "gzip"} if packs else {}
        return Response(small if packs else plain, headers=headers, media_type=TYPES[Path(name).suffix])
