"""SHOW and ADMIN SET FRONTEND CONFIG.

Owns: what the console sees of the settings.
Must not know: which settings there are, who uses a value, the console.
"""

from collections.abc import Callable

from syncmgr.config.settings import Settings


class FrontendConfig:
    """`changed` is called with the name of each setting that was set."""

    def __init__(self, settings: Settings, changed: Callable[[str], None]) -> None:
        self._settings = settings
        self._changed = changed

    def show(self) -> list[tuple[str, ...]]:
        return list(self._settings.rows())

    def set(self, name: str, value: str) -> None:
        """Raises WRONG_CONFIG, UNKNOWN_CONFIG."""
        self._settings.set(name, value)
        self._changed(name)
