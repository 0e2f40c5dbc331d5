import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_generated_parts_are_fresh() -> None:
    """docs/*.md and conf/fe.conf say what the tables of the code say; `python docs/generate.py` renews them."""
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    stale = [str(path.relative_to(ROOT)) for path, text in module.generated().items() if path.read_text() != text]
    assert stale == []
