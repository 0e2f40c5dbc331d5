"""Which frontend owns the metadata"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import create_table

revision = '0004'
down_revision = '0003'
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_table('owner',
    sa.Column('id', sa.Integer(), autoincrement=False, nullable=False),
    sa.Column('frontend', sa.String(length=255), nullable=False),
    sa.Column('beat', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('id')
    )


def downgrade() -> None:
    op.drop_table('owner')
