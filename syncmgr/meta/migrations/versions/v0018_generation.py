"""How often the rows of a table were begun to be read, so that an older reading is told from a newer one"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import add_column

revision = '0018'
down_revision = '0017'
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_column('loads', sa.Column('generation', sa.Integer(), nullable=False, server_default='0'))


def downgrade() -> None:
    with op.batch_alter_table('loads') as batch_op:
        batch_op.drop_column('generation')
