"""Columns of targets whose tables are read anew"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import add_column

revision = '0014'
down_revision = '0013'
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_column('channels', sa.Column('changes', sa.JSON(), nullable=True))
    add_column('loads', sa.Column('changes', sa.JSON(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table('loads', schema=None) as batch_op:
        batch_op.drop_column('changes')
    with op.batch_alter_table('channels', schema=None) as batch_op:
        batch_op.drop_column('changes')
