"""Epochs that count though a channel has not committed them"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import add_column

revision = '0003'
down_revision = '0002'
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_column('epochs', sa.Column('waiting', sa.Integer(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table('epochs', schema=None) as batch_op:
        batch_op.drop_column('waiting')
