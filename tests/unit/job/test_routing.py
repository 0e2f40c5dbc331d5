import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.batch import ChangeKind
from syncmgr.job.routing import Image, split_updates

EVENTS = st.lists(st.sampled_from(["insert", "delete", "update", "move"]))


@given(EVENTS)
def test_updates_that_move_the_key_are_two_changes(events: list[str]) -> None:
    """Inserts and deletes stay, an update is its new image, and a moved one is a delete and then an insert."""
    images, wanted, changed = [], [], []
    for event in events:
        at = len(images)
        match event:
            case "insert":
                images.append(Image.INSERTED)
                wanted.append((at, ChangeKind.INSERT))
            case "delete":
                images.append(Image.DELETED)
                wanted.append((at, ChangeKind.DELETE))
            case _:
                images += [Image.BEFORE, Image.AFTER]
                changed.append(event == "move")
                if event == "move":
                    wanted += [(at, ChangeKind.DELETE), (at + 1, ChangeKind.INSERT)]
                else:
                    wanted.append((at + 1, ChangeKind.UPDATE))
    kept, kinds = split_updates(np.array(images, np.int8), np.array(changed, np.bool_))
    assert list(zip(kept.tolist(), kinds.tolist(), strict=True)) == wanted
