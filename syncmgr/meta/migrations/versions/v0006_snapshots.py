"""Snapshots of channels: their chunks, and which of them are in the lake"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import create_table

revision = '0006'
down_revision = '0005'
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_table('loads',
    sa.Column('token', sa.String(length=36), nullable=False),
    sa.Column('plan', sa.JSON(), nullable=True),
    sa.Column('done', sa.Text(), nullable=False),
    sa.Column('rows', sa.BigInteger(), nullable=False),
    sa.Column('upper', sa.JSON(), nullable=True),
    sa.Column('caught_up', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['token'], ['channels.token'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('token')
    )


def downgrade() -> None:
    op.drop_table('loads')
