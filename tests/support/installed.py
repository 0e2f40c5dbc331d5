"""Where bin/test.sh puts what the tests need, for all clones of a user.

Must not know: what is there.
"""

from pathlib import Path
from typing import Final

from syncmgr.lake.spark.jars import users_folder

JARS: Final = users_folder() or Path("jars").absolute()
FOLDER: Final = JARS.parent
