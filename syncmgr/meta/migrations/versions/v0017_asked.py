"""Until when the source of a job was asked of objects that the job does not read"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import add_column

revision = '0017'
down_revision = '0016'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Not as a copy of the table: SQLite would delete what belongs to its rows with the old one.
    add_column('jobs', sa.Column('asked_until', sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column('jobs', 'asked_until')
