SELECT @@GLOBAL.time_zone AS global_tz, @@system_time_zone AS system_tz, time_format(   timediff(      now(), convert_tz(now(), @@GLOBAL.time_zone, '+00:00')   ),   '%H:%i' ) AS `offset`
SET @@session.time_zone = 'UTC'
SELECT 1
SET autocommit=0
commit
rollback
SELECT TABLE_SCHEMA AS TABLE_CAT, NULL AS TABLE_SCHEM, TABLE_NAME, CASE WHEN TABLE_TYPE='BASE TABLE' THEN CASE WHEN TABLE_SCHEMA = 'mysql' OR TABLE_SCHEMA = 'performance_schema' THEN 'SYSTEM TABLE' ELSE 'TABLE' END WHEN TABLE_TYPE='TEMPORARY' THEN 'LOCAL_TEMPORARY' ELSE TABLE_TYPE END AS TABLE_TYPE, TABLE_COMMENT AS REMARKS, NULL AS TYPE_CAT, NULL AS TYPE_SCHEM, NULL AS TYPE_NAME, NULL AS SELF_REFERENCING_COL_NAME, NULL AS REF_GENERATION FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'demo' HAVING TABLE_TYPE IN ('TABLE','VIEW',null,null,null) ORDER BY TABLE_TYPE, TABLE_SCHEMA, TABLE_NAME
SELECT `c`.`column_name` AS `name`, `c`.`ordinal_position` - 1 AS `database-position`, NULL AS `table-schema`, `c`.`table_name` AS `table-name`, UPPER(`c`.`data_type`) AS `database-type`, `c`.`extra` = 'auto_increment' AS `database-is-auto-increment`, `c`.`column_key` = 'PRI' AS `pk?`, IF(`c`.`column_comment` = '', NULL, `c`.`column_comment`) AS `field-comment` FROM `information_schema`.`columns` AS `c` WHERE `c`.`table_schema` NOT IN ('INFORMATION_SCHEMA') AND `c`.`table_schema` = 'demo' ORDER BY `table-name` ASC, `database-position` ASC
SHOW GRANTS FOR CURRENT_USER
SHOW GRANTS FOR CURRENT_USER()
