"""The settings as they apply to one job: its properties come first.

Owns: that rule.
Must not know: jobs.
"""

from collections.abc import Mapping

from syncmgr.config.checks import Value
from syncmgr.config.settings import Settings, find, parse


class JobSettings:
    """Of a job with these properties; a changed setting applies from the next read on."""

    def __init__(self, settings: Settings, properties: Mapping[str, str]) -> None:
        self._settings, self._properties = settings, properties

    def number(self, name: str) -> int:
        return int(self._value(name))

    def seconds(self, name: str) -> float:
        return float(self._value(name))

    def _value(self, name: str) -> Value:
        text = self._properties.get(name)
        return self._settings[name] if text is None else parse(find(name), text)
