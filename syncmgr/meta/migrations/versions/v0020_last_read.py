"""Positions name the last transaction that was read: an older program knows no such field"""

revision = '0020'
down_revision = '0019'
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A position without it is one of an older version."""


def downgrade() -> None:
    """An older program would have to be given the positions without the field."""
