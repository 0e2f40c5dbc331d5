import pytest

from syncmgr.web.origins import foreign

OURS = {"host": "fe:8030", "content-type": "application/json; charset=utf-8"}


@pytest.mark.parametrize(
    ("headers", "is_foreign"),
    [
        ({}, False),
        ({"origin": "http://fe:8030"}, False),
        ({"origin": "https://FE:8030"}, False),  # a proxy speaks TLS
        ({"origin": "http://fe:8031"}, True),
        ({"origin": "http://evil.example"}, True),
        ({"origin": "null"}, True),
        ({"sec-fetch-site": "same-origin"}, False),
        ({"sec-fetch-site": "none"}, False),
        ({"sec-fetch-site": "same-site"}, True),
        ({"sec-fetch-site": "cross-site"}, True),
        ({"content-type": "text/plain"}, True),
        ({"content-type": "application/x-www-form-urlencoded"}, True),
        ({"content-type": ""}, True),
    ],
)
def test_pages_of_others_change_nothing(headers: dict[str, str], is_foreign: bool) -> None:  # noqa: FBT001
    """Neither by a form, nor by a script of another site or another port; programs without a page may."""
    assert (foreign({**OURS, **headers}) is not None) is is_foreign
