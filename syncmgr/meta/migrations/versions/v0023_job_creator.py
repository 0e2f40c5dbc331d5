"""Jobs know the account that has created them: how many one account may have is bounded"""

import sqlalchemy as sa

from syncmgr.meta.migrations.steps import add_column, drop_column

revision = '0023'
down_revision = '0022'
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_column('jobs', sa.Column('creator', sa.String(511), nullable=True))


def downgrade() -> None:
    drop_column('jobs', 'creator')
