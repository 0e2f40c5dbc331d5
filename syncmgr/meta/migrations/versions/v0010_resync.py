"""Tables that are read anew"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import add_column

revision = '0010'
down_revision = '0009'
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_column('channels', sa.Column('resyncing', sa.Boolean(), nullable=False, server_default=sa.false()))
    add_column('loads', sa.Column('replaces', sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    with op.batch_alter_table('loads', schema=None) as batch_op:
        batch_op.drop_column('replaces')
    with op.batch_alter_table('channels', schema=None) as batch_op:
        batch_op.drop_column('resyncing')
