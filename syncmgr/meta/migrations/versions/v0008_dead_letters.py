"""Changes that were kept out of their targets"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import create_index, create_table

revision = '0008'
down_revision = '0007'
branch_labels = None
depends_on = None


def upgrade() -> None:
    job_id = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
    medium = sa.Text(length=16777215).with_variant(sa.Text(), 'postgresql')  # whose texts take no length
    create_table('dead_letters',
    sa.Column('id', job_id, autoincrement=True, nullable=False),
    sa.Column('job_id', job_id, nullable=False),
    sa.Column('epoch', sa.BigInteger(), nullable=False),
    sa.Column('token', sa.String(length=36), nullable=False),
    sa.Column('change', sa.String(length=16), nullable=False),
    sa.Column('column', sa.String(length=255), nullable=False),
    sa.Column('value', medium, nullable=False),
    sa.Column('reason', medium, nullable=False),
    sa.Column('row', medium, nullable=False),
    sa.Column('at', sa.Double(), nullable=False),
    sa.Column('file', sa.String(length=512), nullable=False),
    sa.Column('offset', sa.BigInteger(), nullable=False),
    sa.ForeignKeyConstraint(['job_id'], ['jobs.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id')
    )
    create_index('ix_dead_letters_job_id', 'dead_letters', ['job_id'])


def downgrade() -> None:
    op.drop_table('dead_letters')
