"""SHOW and ADMIN SET FRONTEND CONFIG.

Owns: what the console sees of the settings.
Must not know: which settings there are, who uses a value, the console.
"""

from collections.abc import Callable, Mapping

from syncmgr.config.settings import Settings


class FrontendConfig:
    """`changed` is called with the name of each setting that was set."""

    def __init__(self, settings: Settings, changed: Callable[[str], None]) -> None:
        self._settings = settings
        self._changed = changed

    def show(self) -> list[tuple[str, ...]]:
        return list(self._settings.rows())

    def set(self, values: Mapping[str, str]) -> None:
        """All of them, or none. Raises WRONG_CONFIG, UNKNOWN_CONFIG, IMMUTABLE_CONFIG."""
        self._settings.set(values)
        for name in values:
            self._changed(name)
