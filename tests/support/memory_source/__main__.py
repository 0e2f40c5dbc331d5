"""A frontend that knows this kind of source, too: python -m tests.support.memory_source --conf ..."""

import sys

from syncmgr.__main__ import main
from syncmgr.sources.registry import KINDS
from tests.support.memory_source.kind import MEMORY

if __name__ == "__main__":
    KINDS["memory"] = MEMORY
    sys.exit(main())
