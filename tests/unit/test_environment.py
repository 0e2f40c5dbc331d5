"""The environment of Python that bin/start_fe.sh makes and uses."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK = "requirements.lock"
ASK = "import importlib.util as found, sys; sys.exit(found.find_spec('{name}') is not None)"


@pytest.mark.parametrize("name", ["setuptools", "pkg_resources"])
def test_setuptools_is_not_installed(name: str) -> None:
    """The one that venv brings, which no lock names and which has known holes, is removed and stays away."""
    python = ROOT / ".venv" / "bin" / "python"
    assert subprocess.run([python, "-c", ASK.format(name=name)], check=False, cwd=ROOT).returncode == 0


def is_ready(project: Path) -> bool:
    """What the script says of an environment that it finds."""
    program = f'source "{ROOT}/bin/environment.sh"; PROJECT={project}; PYTHON={project}/.venv/bin/python'
    done = subprocess.run(["bash", "-c", f"{program}; python_is_ready {LOCK}"], check=False, cwd=project)
    return done.returncode == 0


def test_an_environment_with_setuptools_is_not_ready(tmp_path: Path) -> None:
    """One that an earlier version made is put right by the next start, though its packages are those of the lock."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    [packages] = (tmp_path / ".venv" / "lib").glob("python3*/site-packages")
    (tmp_path / LOCK).touch()
    (tmp_path / ".venv" / LOCK).touch()
    (packages / "syncmgr.py").touch()
    assert is_ready(tmp_path)
    (packages / "setuptools").mkdir()
    (packages / "setuptools" / "__init__.py").touch()
    assert not is_ready(tmp_path)
