"""Statements that were followed know their epoch: whether rows came after one is told without the epochs themselves"""

import sqlalchemy as sa

from syncmgr.meta.migrations.steps import add_column, drop_column

revision = '0022'
down_revision = '0021'
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_column('ddl', sa.Column('epoch', sa.BigInteger(), nullable=True))


def downgrade() -> None:
    drop_column('ddl', 'epoch')
