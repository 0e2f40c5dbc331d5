"""How tables stand, and since when"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import add_column

revision = '0016'
down_revision = '0015'
branch_labels = None
depends_on = None

LOADS = sa.table('loads', sa.column('replaces', sa.Boolean()), sa.column('stale_since', sa.Double()))


def upgrade() -> None:
    # Not as copies of the tables: SQLite would delete what belongs to their rows with the old ones.
    add_column('jobs', sa.Column('synced_until', sa.Double(), nullable=True))
    add_column('loads', sa.Column('begun_at', sa.Double(), nullable=True))
    add_column('loads', sa.Column('stale_since', sa.Double(), nullable=True))
    add_column('channels', sa.Column('stale_since', sa.Double(), nullable=True))
    op.execute(LOADS.update().where(LOADS.c.replaces.is_(sa.false())).values(stale_since=0.0))


def downgrade() -> None:
    with op.batch_alter_table('loads', schema=None) as batch_op:
        batch_op.drop_column('stale_since')
        batch_op.drop_column('begun_at')
    op.drop_column('channels', 'stale_since')
    op.drop_column('jobs', 'synced_until')
