"""Every epoch deletes the keys that it brings, whether or not they can be there"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import drop_column

revision = '0015'
down_revision = '0014'
branch_labels = None
depends_on = None

DOUBT = 'DoubtKeys'  # the change that said so, of a table whose rows go unseen
EPOCHS = sa.table('epochs', sa.column('job_id'), sa.column('number'), sa.column('ddl', sa.JSON()))


def upgrade() -> None:
    # Not as a copy of the table: SQLite would delete what belongs to its rows with the old one.
    drop_column('channels', 'key_may_exist')
    connection = op.get_bind()
    known = connection.execute(sa.select(EPOCHS)).all()
    for row in known:
        if row.ddl is not None and without_doubt(row.ddl) != row.ddl:
            this = (EPOCHS.c.job_id == row.job_id) & (EPOCHS.c.number == row.number)
            connection.execute(EPOCHS.update().where(this).values(ddl=without_doubt(row.ddl)))


def without_doubt(step: dict[str, Any]) -> dict[str, Any]:
    left = {token: [c for c in changes if c['kind'] != DOUBT] for token, changes in step['changes'].items()}
    return {**step, 'changes': left}


def downgrade() -> None:
    with op.batch_alter_table('channels', schema=None) as batch_op:
        batch_op.add_column(sa.Column('key_may_exist', sa.Boolean(), nullable=False, server_default=sa.true()))
