"""Tests that any server passes in the same way.

Owns: the mark that keeps MySQL in every run, and MariaDB, as the second proof, in the long ones.
Must not know: servers, what is tested.
"""

import pytest

ALIKE = pytest.mark.parametrize("any_server", ["mysql", pytest.param("mariadb", marks=pytest.mark.long)], indirect=True)
