"""Errors with numbers, states and words of MySQL itself.

Owns: their rows: what clients of MySQL know by number.
Must not know: who raises an error or how it is shown.
"""

from syncmgr.errors.row import Row

DATABASE_EXISTS = Row(1007, "HY000", "Can't create database '{db}'; database exists")
DROP_NO_DATABASE = Row(1008, "HY000", "Can't drop database '{db}'; database doesn't exist")
TOO_MANY_CONNECTIONS = Row(1040, "08004", "Too many connections")
HANDSHAKE = Row(1043, "08S01", "Bad handshake")
DATABASE_DENIED = Row(1044, "42000", "Access denied for user '{user}'@'{host}' to database '{db}'")
ACCESS_DENIED = Row(1045, "28000", "Access denied for user '{user}'@'{host}' (using password: {using})")
NO_DATABASE = Row(1046, "3D000", "No database selected")
UNKNOWN_COMMAND = Row(1047, "08S01", "Unknown command")
UNKNOWN_DATABASE = Row(1049, "42000", "Unknown database '{db}'")
TABLE_EXISTS = Row(1050, "42S01", "Table '{table}' already exists")
UNKNOWN_TABLE = Row(1051, "42S02", "Unknown table '{table}'")
AMBIGUOUS_COLUMN = Row(1052, "23000", "{reason}")
SHUTTING_DOWN = Row(1053, "08S01", "Server shutdown in progress")
UNKNOWN_COLUMN = Row(1054, "42S22", "Unknown column '{column}' in '{where}'")
NOT_GROUPED = Row(1055, "42000", "{reason}")
NAME_TOO_LONG = Row(1059, "42000", "Identifier name '{name}' is too long; at most {limit} characters are allowed")
DUPLICATE_COLUMN = Row(1060, "42S21", "Duplicate column name '{column}'")
SYNTAX = Row(
    1064, "42000", "You have an error in your SQL syntax; {reason} near '{near}' at line {line}, column {column}"
)
EMPTY_QUERY = Row(1065, "42000", "Query was empty")
NO_SUCH_THREAD = Row(1094, "HY000", "Unknown thread id: {id}")
INTERNAL = Row(1105, "HY000", "{message}")
UNKNOWN_SCHEMA_TABLE = Row(1109, "42S02", "Unknown table '{table}' in information_schema")
AGGREGATE_MISPLACED = Row(1111, "HY000", "{reason}")
UNKNOWN_CHARSET = Row(1115, "42000", "Unknown character set: '{charset}'")
MIXED_WITH_AGGREGATE = Row(1140, "42000", "{reason}")
NO_SUCH_GRANT = Row(1141, "42000", "There is no such grant defined for user '{user}' on host '{host}'")
TABLE_DENIED = Row(1142, "42000", "{privilege} command denied to user '{user}'@'{host}' for {what} '{name}'")
NO_SUCH_TABLE = Row(1146, "42S02", "Table '{db}.{table}' doesn't exist")
PACKET_TOO_LARGE = Row(1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes")
READ_TIMEOUT = Row(1159, "08S01", "Got timeout reading communication packets")
UNKNOWN_VARIABLE = Row(1193, "HY000", "Unknown system variable '{name}'")
TOO_MANY_OF_USER = Row(
    1203,
    "42000",
    "User '{user}' already has {limit} connections, half of max_connections in conf/fe.conf, which is all that one "
    "account may have",
)
WRONG_ARGUMENTS = Row(1210, "HY000", "Incorrect arguments to {what}")
COLUMNS_DIFFER = Row(1222, "21000", "{reason}")
PRIVILEGE_NEEDED = Row(
    1227, "42000", "Access denied; you need (at least one of) the {privilege} privilege(s) for this operation"
)
WRONG_VALUE = Row(1231, "42000", "Variable '{name}' can't be set to the value of '{value}'")
WRONG_TYPE = Row(1232, "42000", "Incorrect argument type to variable '{name}'")
NOT_SUPPORTED = Row(1235, "42000", "This version of syncmgr doesn't yet support '{what}'")
READ_ONLY_VARIABLE = Row(1238, "HY000", "Variable '{name}' is a read only variable")
MORE_THAN_ONE_ROW = Row(1242, "21000", "{reason}")
UNKNOWN_PREPARED = Row(1243, "HY000", "Unknown prepared statement handler ({id}) given to EXECUTE")
WRONG_TEXT_OF_VALUE = Row(1292, "22007", "{reason}")
UNKNOWN_TIME_ZONE = Row(1298, "HY000", "Unknown or incorrect time zone: '{zone}'")
INVALID_TEXT = Row(1300, "HY000", "Invalid {charset} character string: '{text}'")
UNKNOWN_FUNCTION = Row(1305, "42000", "FUNCTION {name} does not exist")
INTERRUPTED = Row(1317, "70100", "Query execution was interrupted")
DIVISION_BY_ZERO = Row(1365, "22012", "{reason}")
USER_FAILED = Row(1396, "HY000", "Operation {what} failed for {user}")
TABLE_CHANGED = Row(1412, "HY000", "Table definition has changed, please retry transaction")
NO_CURSOR = Row(1421, "HY000", "The statement ({id}) has no open cursor.")
NESTED_TOO_DEEPLY = Row(1436, "HY000", "The statement is nested too deeply")
TOO_MANY_PREPARED = Row(
    1461, "42000", "Can't create more than max_prepared_stmt_count statements (current value: {limit})"
)
NO_SUCH_PLUGIN = Row(1524, "HY000", "Plugin '{plugin}' is not loaded")
WRONG_PARAMETER_COUNT = Row(1582, "42000", "{reason}")
OPTION_IGNORED = Row(1618, "HY000", "{option} is ignored: {reason}")
OUT_OF_RANGE = Row(1690, "22003", "{reason}")
TIMED_OUT = Row(3024, "HY000", "Query execution was interrupted, maximum statement execution time exceeded")
SECURE_TRANSPORT = Row(3159, "HY000", "Connections using insecure transport are prohibited")
LOGIN_REFUSED = Row(
    3955,
    "HY000",
    "Access denied for user '{user}'@'{host}'. Account is blocked for {second} seconds due to {count} consecutive failed logins",
)
