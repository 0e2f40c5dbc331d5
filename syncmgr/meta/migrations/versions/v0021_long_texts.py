"""Statements of more than 65,535 bytes, and what was done with them, where MySQL or MariaDB has the metadata"""

import sqlalchemy as sa
from sqlalchemy.dialects.mysql import MEDIUMTEXT

from syncmgr.meta.migrations.steps import alter_column

revision = '0021'
down_revision = '0020'
branch_labels = None
depends_on = None

COLUMNS = (
    ('jobs', 'statement', False),
    ('loads', 'done', False),
    ('ddl', 'statement', False),
    ('ddl', 'outcome', False),
    ('ddl', 'instead', True),
)


def upgrade() -> None:
    for table, name, nullable in COLUMNS:
        alter_column(table, sa.Column(name, MEDIUMTEXT(), nullable=nullable))


def downgrade() -> None:
    for table, name, nullable in COLUMNS:  # refused by the server where one is longer
        alter_column(table, sa.Column(name, sa.Text(), nullable=nullable))
