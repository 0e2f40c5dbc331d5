"""Users of the console and what they may do"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import create_table

revision = '0005'
down_revision = '0004'
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_table(
        'users',
        sa.Column('name', sa.String(32), primary_key=True),
        sa.Column('host', sa.String(60), primary_key=True),
        sa.Column('plugin', sa.String(64), nullable=False),
        sa.Column('secret', sa.String(255), nullable=False),
    )
    create_table(
        'grants',
        sa.Column('name', sa.String(32), primary_key=True),
        sa.Column('host', sa.String(60), primary_key=True),
        sa.Column('level', sa.String(16), primary_key=True),
        sa.Column('db', sa.String(255), primary_key=True),
        sa.Column('object', sa.String(255), primary_key=True),
        sa.Column('privilege', sa.String(32), primary_key=True),
    )


def downgrade() -> None:
    op.drop_table('grants')
    op.drop_table('users')
