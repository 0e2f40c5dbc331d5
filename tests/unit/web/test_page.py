import re
from pathlib import Path

from syncmgr.web.page import FOLDER, TYPES, Page

SCRIPTS = sorted(FOLDER.glob("*.js"))


def test_the_address_changes_with_any_file(tmp_path: Path) -> None:
    """So that a browser never mixes two versions."""
    for file in FOLDER.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert Page(tmp_path).version == Page().version
    (tmp_path / "words.js").write_text("// another one")
    assert Page(tmp_path).version != Page().version


def test_every_file_is_served() -> None:
    """None is left out for its type; a script imports only what lies next to it."""
    assert {file.suffix for file in FOLDER.iterdir()} <= set(TYPES)
    for script in SCRIPTS:
        for name in re.findall(r'(?:from|import) "([^"]+)"', script.read_text()):
            assert (FOLDER / name).is_file(), (script.name, name)


def test_no_text_becomes_markup() -> None:
    """The page makes nodes and texts alone: names of tables may look like markup. No style and no script is inline."""
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|srcdoc|DOMParser|\bstyle:"
    for script in SCRIPTS:
        assert not re.search(forbidden, script.read_text()), script.name
    index = (FOLDER / "index.html").read_text()
    assert not re.search(r"<style|\son\w+=|\sstyle=|<script(?![^>]*\ssrc=)", index)


def test_nothing_comes_from_elsewhere() -> None:
    """It works without a network besides the frontend, and has nobody else's code or font."""
    for file in FOLDER.iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|@import|@font-face|url\(", text), file.name
