"""Certificates as an operator makes them, with openssl.

Owns: an authority, and what it signs.
Must not know: who shows them.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key."""

    certificate: Path
    key: Path


class Authority:
    """A CA of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self.own = self._made(name, "-x509", "-days", "2", "-addext", "basicConstraints=critical,CA:TRUE")

    def issue(self, name: str, *names: str) -> Pair:
        """For hosts as subjectAltName has them: DNS:localhost."""
        by = ["-x509", "-days", "2", "-CA", str(self.own.certificate), "-CAkey", str(self.own.key)]
        given = ["-addext", f"subjectAltName={','.join(names)}"] if names else []
        return self._made(name, *by, "-addext", "basicConstraints=CA:FALSE", *given)

    def _made(self, name: str, *options: str) -> Pair:
        made = Pair(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        command = ["openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", *options]
        command += ["-out", str(made.certificate), "-keyout", str(made.key)]
        subprocess.run(command, check=True, capture_output=True)
        return made
