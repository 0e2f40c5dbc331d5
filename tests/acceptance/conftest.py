from collections.abc import Iterator

import pytest

from tests.acceptance.frontend import FrontendProcess


@pytest.fixture(scope="session")
def frontend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontendProcess]:
    """One frontend per run; a test that kills it starts it again."""
    process = FrontendProcess(tmp_path_factory.mktemp("fe"))
    process.start()
    yield process
    assert process.stop() == 0
