/* mysql-connector-j-9.5.0 */SELECT  @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS character_set_client, @@character_set_connection AS character_set_connection, @@character_set_results AS character_set_results, @@character_set_server AS character_set_server, @@collation_server AS collation_server, @@collation_connection AS collation_connection, @@init_connect AS init_connect, @@interactive_timeout AS interactive_timeout, @@license AS license, @@lower_case_table_names AS lower_case_table_names, @@max_allowed_packet AS max_allowed_packet, @@net_write_timeout AS net_write_timeout, @@performance_schema AS performance_schema, @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, @@transaction_isolation AS transaction_isolation, @@wait_timeout AS wait_timeout
SET character_set_results = NULL
SET autocommit=1
SHOW VARIABLES LIKE 'aurora_version'
SELECT @@session.transaction_isolation
SELECT @@session.transaction_read_only
SHOW ENGINES
SHOW CHARSET
SHOW COLLATION
SHOW PLUGINS
SHOW VARIABLES LIKE 'lower_case_table_names'
SELECT @@GLOBAL.character_set_server,@@GLOBAL.collation_server
SELECT * FROM information_schema.SCHEMATA
SELECT DATABASE()
use `demo`
SHOW FULL TABLES FROM `demo`
SHOW FULL TABLES FROM `demo` LIKE 'orders'
SHOW TABLE STATUS FROM `demo`
SELECT * FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='demo' ORDER BY ORDINAL_POSITION
SELECT * FROM INFORMATION_SCHEMA.STATISTICS WHERE TABLE_SCHEMA='demo' AND TABLE_NAME='orders' ORDER BY TABLE_NAME,INDEX_NAME,SEQ_IN_INDEX
SELECT kc.CONSTRAINT_NAME,kc.TABLE_NAME,kc.COLUMN_NAME,kc.ORDINAL_POSITION FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE kc WHERE kc.TABLE_SCHEMA='demo' AND kc.REFERENCED_TABLE_NAME IS NULL AND kc.TABLE_NAME='orders' ORDER BY kc.CONSTRAINT_NAME,kc.ORDINAL_POSITION
SELECT tc.TABLE_NAME, tc.CONSTRAINT_NAME, cc.CHECK_CLAUSE FROM (SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM INFORMATION_SCHEMA.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'demo') cc, (SELECT TABLE_NAME, CONSTRAINT_NAME FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS WHERE CONSTRAINT_TYPE='CHECK' AND TABLE_SCHEMA='demo' AND TABLE_NAME='orders') tc WHERE cc.CONSTRAINT_NAME=tc.CONSTRAINT_NAME ORDER BY cc.CONSTRAINT_NAME
SELECT * FROM INFORMATION_SCHEMA.PARTITIONS WHERE TABLE_SCHEMA='demo' AND TABLE_NAME='orders' ORDER BY PARTITION_ORDINAL_POSITION,SUBPARTITION_NAME
SELECT * FROM INFORMATION_SCHEMA.TRIGGERS WHERE TRIGGER_SCHEMA='demo' AND EVENT_OBJECT_TABLE='orders' ORDER BY TRIGGER_NAME
SELECT * FROM INFORMATION_SCHEMA.ROUTINES WHERE ROUTINE_SCHEMA='demo' AND ROUTINE_TYPE IN ('PROCEDURE','FUNCTION') ORDER BY ROUTINE_NAME
SELECT * FROM information_schema.EVENTS WHERE EVENT_SCHEMA='demo' ORDER BY EVENT_NAME
SELECT * FROM information_schema.VIEWS WHERE TABLE_SCHEMA='demo'
SHOW CREATE TABLE `demo`.`orders`
SHOW PRIVILEGES
SHOW GLOBAL STATUS
SHOW GLOBAL VARIABLES
SHOW FULL PROCESSLIST
SET SQL_SELECT_LIMIT=200
SET SQL_SELECT_LIMIT=DEFAULT
SHOW WARNINGS
