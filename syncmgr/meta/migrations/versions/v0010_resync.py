"""Tables that are read anew"""

import sqlalchemy as sa
from alembic import op

revision = '0010'
down_revision = '0009'
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table('channels', schema=None) as batch_op:
        batch_op.add_column(sa.Column('resyncing', sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table('loads', schema=None) as batch_op:
        batch_op.add_column(sa.Column('replaces', sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    with op.batch_alter_table('loads', schema=None) as batch_op:
        batch_op.drop_column('replaces')
    with op.batch_alter_table('channels', schema=None) as batch_op:
        batch_op.drop_column('resyncing')
