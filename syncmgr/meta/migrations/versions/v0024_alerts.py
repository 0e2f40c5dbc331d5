"""Alerts that were raised, and what was sent of them"""

import sqlalchemy as sa
from alembic import op

from syncmgr.meta.migrations.steps import create_table

revision = '0024'
down_revision = '0023'
branch_labels = None
depends_on = None


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
    medium = sa.Text(length=16777215).with_variant(sa.Text(), 'postgresql')  # whose texts take no length
    create_table('alerts',
    sa.Column('id', number, autoincrement=True, nullable=False),
    sa.Column('event', sa.String(length=64), nullable=False),
    sa.Column('job', sa.String(length=511), nullable=False),
    sa.Column('subject', sa.String(length=511), nullable=False),
    sa.Column('text', medium, nullable=False),
    sa.Column('error', sa.Integer(), nullable=True),
    sa.Column('advice', medium, nullable=True),
    sa.Column('fired_at', sa.Double(), nullable=False),
    sa.Column('resolved_at', sa.Double(), nullable=True),
    sa.Column('sent_at', sa.Double(), nullable=True),
    sa.Column('resolved_sent_at', sa.Double(), nullable=True),
    sa.Column('failures', sa.Integer(), nullable=False),
    sa.Column('tried_at', sa.Double(), nullable=True),
    sa.Column('reason', medium, nullable=True),
    sa.PrimaryKeyConstraint('id')
    )


def downgrade() -> None:
    op.drop_table('alerts')
