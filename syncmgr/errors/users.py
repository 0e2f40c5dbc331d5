"""Errors of the users of the console: 20401 to 20499.

Owns: their rows: what is wrong with an account or a grant.
Must not know: who raises an error or how it is shown.
"""

from syncmgr.errors.row import Row

PASSWORD_NEEDED = Row(20401, "HY000", "User '{user}' needs a password; write IDENTIFIED BY 'a password'")
BAD_GRANT = Row(20402, "HY000", "This cannot be granted: {reason}")
ROOT_IN_CONF = Row(
    20403,
    "HY000",
    "User root cannot be created or changed by statements: it has all privileges, and its password is root_password in conf/fe.conf",
)
FILE_DENIED = Row(
    20404,
    "HY000",
    "Property '{name}' cannot be '{path}': without ADMIN_PRIV it must be a file {where}, which the operator provides",
)
