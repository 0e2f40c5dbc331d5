"""What checks have found"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import create_index, create_table

revision = '0025'
down_revision = '0024'
branch_labels = None
depends_on = None


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
    create_table('checks',
    sa.Column('check_id', sa.BigInteger(), autoincrement=False, nullable=False),
    sa.Column('place', sa.Integer(), autoincrement=False, nullable=False),
    sa.Column('job_id', number, nullable=False),
    sa.Column('shown', sa.JSON(), nullable=False),
    sa.Column('found', sa.JSON(), nullable=False),
    sa.Column('ended', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['job_id'], ['jobs.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('check_id', 'place')
    )
    create_index('ix_checks_job_id', 'checks', ['job_id'])


def downgrade() -> None:
    op.drop_table('checks')
