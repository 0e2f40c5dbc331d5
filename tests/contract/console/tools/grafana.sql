SELECT 1
SELECT DISTINCT TABLE_SCHEMA from information_schema.TABLES where TABLE_TYPE != 'SYSTEM VIEW' ORDER BY TABLE_SCHEMA
SELECT table_name FROM information_schema.tables WHERE table_schema = database() ORDER BY table_name
SELECT table_name FROM information_schema.tables WHERE table_schema = 'demo' ORDER BY table_name
SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'demo' AND table_name = 'orders' AND data_type IN ('timestamp','datetime','bigint','int','double','float') ORDER BY column_name
SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = database() AND table_name = 'orders' AND data_type IN ('bigint','int','smallint','mediumint','tinyint','double','decimal','float') AND column_name <> 'id' ORDER BY column_name
SET time_zone='+00:00'
