"""DDL: the epoch of a statement, and what was done with each"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import add_column, create_index, create_table

revision = '0007'
down_revision = '0006'
branch_labels = None
depends_on = None


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
    create_table(
        'ddl',
        sa.Column('id', number, autoincrement=True, nullable=False),
        sa.Column('job_id', number, nullable=False),
        sa.Column('position', sa.JSON(), nullable=False),
        sa.Column('at', sa.Double(), nullable=False),
        sa.Column('table_name', sa.String(length=511), nullable=False),
        sa.Column('statement', sa.Text(), nullable=False),
        sa.Column('state', sa.String(length=16), nullable=False),
        sa.Column('outcome', sa.Text(), nullable=False),
        sa.Column('instead', sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(['job_id'], ['jobs.id'], ondelete='CASCADE'),
        sa.PrimaryKeyConstraint('id'),
    )
    create_index('ix_ddl_job_id', 'ddl', ['job_id'])
    add_column('epochs', sa.Column('ddl', sa.JSON(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table('epochs', schema=None) as batch_op:
        batch_op.drop_column('ddl')
    op.drop_index('ix_ddl_job_id', 'ddl')
    op.drop_table('ddl')
