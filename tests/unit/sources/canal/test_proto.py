import re
from pathlib import Path
from typing import Any

import pytest

import syncmgr.sources.canal.proto
from syncmgr.sources.canal.proto import entry_pb2, packet_pb2

TEXTS = Path(syncmgr.sources.canal.proto.__file__).parent


@pytest.mark.parametrize(("text", "module"), [("packet.proto", packet_pb2), ("entry.proto", entry_pb2)])
def test_generated_modules_are_of_their_texts(text: str, module: Any) -> None:
    """Every message, enum and number of a .proto text is in the generated module, and nothing else."""
    described = module.DESCRIPTOR
    generated = {
        *((name, f.name, f.number) for name, m in described.message_types_by_name.items() for f in m.fields),
        *((name, v.name, v.number) for name, e in described.enum_types_by_name.items() for v in e.values),
    }
    written = set()
    for _, name, body in re.findall(
        r"^(message|enum) (\w+) \{(.*?)^\}", (TEXTS / text).read_text(), re.MULTILINE | re.DOTALL
    ):
        written |= {(name, word, int(number)) for word, number in re.findall(r"(\w+) = (\d+);", body)}
    assert written == generated
