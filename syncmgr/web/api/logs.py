"""The lines of fe.log that are about one job.

Owns: how much of the file is looked through, and which of its lines name a job.
Must not know: HTTP, who may read it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

LOOKED_BYTES: Final = 4 << 20  # from the end
MOST_LINES: Final = 200


def lines_of(file: Path, job: str) -> list[str]:
    """The newest last. Blocks; there may be no file, if the log goes to stderr."""
    try:
        with file.open("rb") as log:
            log.seek(max(0, file.stat().st_size - LOOKED_BYTES))
            text = log.read(LOOKED_BYTES).decode(errors="replace")
    except OSError:
        return []
    return list(_about(text, job))[-MOST_LINES:]


def _about(text: str, job: str) -> Iterator[str]:
    of_thread, fact = f"[job-{job}]", f" job={job}"
    for line in text.split("\n"):
        if line.startswith("{"):
            if _names(line, job):
                yield line
        elif of_thread in line or line.endswith(fact) or f"{fact} " in line:
            yield line


def _names(line: str, job: str) -> bool:
    try:
        facts = json.loads(line)
    except ValueError:  # it was cut
        return False
    return isinstance(facts, dict) and (facts.get("job") == job or facts.get("thread") == f"job-{job}")
