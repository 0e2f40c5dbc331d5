"""What updates and deletes in the source do to a target without a key.

Owns: the policy `append_on_change`.
Must not know: how rows are read or written.
"""

import numpy as np
import pyarrow as pa

from syncmgr.errors import Code, SyncError
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.job.rows.batch import OP, ChangeKind


def appendable(rows: pa.Table, policy: AppendOnChange, table: str) -> pa.Table:
    """The change rows that are appended. Raises APPEND_CHANGE if the policy is `error` and a row was changed."""
    kinds = rows.column(OP).to_numpy()
    inserts = kinds == ChangeKind.INSERT
    if inserts.all():
        return rows
    match policy:
        case AppendOnChange.ERROR:
            change = "an update" if (kinds == ChangeKind.UPDATE).any() else "a delete"
            raise SyncError(Code.APPEND_CHANGE, table=table, change=change)
        case AppendOnChange.APPEND:
            kept = kinds != ChangeKind.DELETE
        case AppendOnChange.IGNORE:
            kept = inserts
    return _as_inserts(rows.filter(pa.array(kept)))


def _as_inserts(rows: pa.Table) -> pa.Table:
    kinds = pa.array(np.full(len(rows), ChangeKind.INSERT, np.int8))
    return rows.set_column(rows.schema.get_field_index(OP), OP, kinds)
