SELECT VERSION()
SELECT DATABASE()
SELECT @@transaction_isolation
SELECT @@sql_mode
SELECT @@lower_case_table_names
SELECT 'test plain returns' AS anon_1
SHOW DATABASES
SHOW FULL TABLES FROM `demo`
SHOW CREATE TABLE `demo`.`orders`
SELECT table_name FROM information_schema.views WHERE table_schema = 'demo'
SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'demo' AND table_name = 'orders'
DESCRIBE `demo`.`orders`
SELECT CONNECTION_ID()
SET SESSION time_zone = '+00:00'
ROLLBACK
