"""XA transactions that are open at the end of an epoch"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import add_column

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_column('epochs', sa.Column('prepared', sa.JSON(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table('epochs', schema=None) as batch_op:
        batch_op.drop_column('prepared')
