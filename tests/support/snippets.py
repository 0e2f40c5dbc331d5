"""What docs/reading.md says, run as it stands there.

Owns: its blocks of Python, and their examples of addresses and names.
Must not know: the lake that is read.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).parents[2] / "docs" / "reading.md"


def run_snippet(words: str, places: Mapping[str, str]) -> dict[str, Any]:
    """The names that the one block of Python with these words defines. `places`: what stands for the examples of the
    page, each of which the block must have.
    """
    (block,) = (found for found in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if words in found)
    for example, place in places.items():
        assert example in block, example
        block = block.replace(example, place)
    names: dict[str, Any] = {}
    exec(block, names)
    return names
