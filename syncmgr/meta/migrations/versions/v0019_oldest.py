"""When the first transaction of an epoch was committed: up to there all is in the lake while it waits"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import add_column

revision = '0019'
down_revision = '0018'
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_column('epochs', sa.Column('oldest_time', sa.Double(), nullable=False, server_default='0'))


def downgrade() -> None:
    with op.batch_alter_table('epochs') as batch_op:
        batch_op.drop_column('oldest_time')
