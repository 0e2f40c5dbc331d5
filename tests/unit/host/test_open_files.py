"""The limit of open files, in a process of its own: it cannot be raised again once it was lowered."""

import resource
import subprocess
import sys

import pytest

from syncmgr.host import open_files

PROGRAM = """
import resource
from syncmgr.host import open_files
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(open_files.raised(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize("soft", [100, 300])
def test_the_limit_is_as_high_as_it_may_be(soft: int) -> None:
    """What a shell or a service begins with is raised to what it permits."""
    found = subprocess.check_output([sys.executable, "-c", PROGRAM.format(soft=soft, hard=300)], text=True)
    assert found.split() == ["300", "300", "300"]


def test_clients_take_half_of_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    """However many are permitted: commits need the others. If that is less than is set, the operator sees why."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert open_files.for_clients(1024, 512) == 512
    assert open_files.for_clients(1024, 7) == 7
    assert capsys.readouterr().err == ""
    assert open_files.for_clients(1024, 600) == 512
    assert "512 connections instead of max_connections = 600" in capsys.readouterr().err
    assert open_files.raised() >= min(soft, open_files.WANTED)
