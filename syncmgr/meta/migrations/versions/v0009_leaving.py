"""Channels that leave their job"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import add_column

revision = '0009'
down_revision = '0008'
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_column('channels', sa.Column('leaving', sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    with op.batch_alter_table('channels', schema=None) as batch_op:
        batch_op.drop_column('leaving')
