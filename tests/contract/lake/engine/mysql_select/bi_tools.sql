-- Superset, db_engine_specs/mysql.py: the grain of a second
SELECT DATE_ADD(DATE(`at`), INTERVAL (HOUR(`at`)*60*60 + MINUTE(`at`)*60 + SECOND(`at`)) SECOND) AS __timestamp, COUNT(*) AS `count` FROM orders GROUP BY DATE_ADD(DATE(`at`), INTERVAL (HOUR(`at`)*60*60 + MINUTE(`at`)*60 + SECOND(`at`)) SECOND) ORDER BY `count` DESC, __timestamp LIMIT 1000;
-- Superset, db_engine_specs/mysql.py: the grain of a minute
SELECT DATE_ADD(DATE(`at`), INTERVAL (HOUR(`at`)*60 + MINUTE(`at`)) MINUTE) AS __timestamp, COUNT(*) AS `count` FROM orders GROUP BY DATE_ADD(DATE(`at`), INTERVAL (HOUR(`at`)*60 + MINUTE(`at`)) MINUTE) ORDER BY __timestamp LIMIT 1000;
-- Superset, db_engine_specs/mysql.py: the grain of an hour
SELECT DATE_ADD(DATE(`at`), INTERVAL HOUR(`at`) HOUR) AS __timestamp, SUM(amount) AS `SUM(amount)` FROM orders GROUP BY DATE_ADD(DATE(`at`), INTERVAL HOUR(`at`) HOUR) ORDER BY __timestamp;
-- Superset, db_engine_specs/mysql.py: the grain of a day
SELECT DATE(`at`) AS __timestamp, AVG(amount) AS `AVG(amount)` FROM orders GROUP BY DATE(`at`) ORDER BY `AVG(amount)` DESC, __timestamp LIMIT 100;
-- Superset, db_engine_specs/mysql.py: the grain of a week
SELECT DATE(DATE_SUB(`at`, INTERVAL DAYOFWEEK(`at`) - 1 DAY)) AS __timestamp, COUNT(DISTINCT person) AS people FROM orders GROUP BY DATE(DATE_SUB(`at`, INTERVAL DAYOFWEEK(`at`) - 1 DAY)) ORDER BY __timestamp;
-- Superset, db_engine_specs/mysql.py: the grain of a month
SELECT DATE(DATE_SUB(`at`, INTERVAL DAYOFMONTH(`at`) - 1 DAY)) AS __timestamp, SUM(qty) AS q FROM orders WHERE `at` >= STR_TO_DATE('2023-01-01 00:00:00.000000', '%Y-%m-%d %H:%i:%s.%f') AND `at` < STR_TO_DATE('2025-06-01 00:00:00.000000', '%Y-%m-%d %H:%i:%s.%f') GROUP BY DATE(DATE_SUB(`at`, INTERVAL DAYOFMONTH(`at`) - 1 DAY)) ORDER BY q DESC, __timestamp;
-- Superset, db_engine_specs/mysql.py: the grain of a quarter
SELECT MAKEDATE(YEAR(`at`), 1) + INTERVAL QUARTER(`at`) QUARTER - INTERVAL 1 QUARTER AS __timestamp, COUNT(*) AS c FROM orders GROUP BY MAKEDATE(YEAR(`at`), 1) + INTERVAL QUARTER(`at`) QUARTER - INTERVAL 1 QUARTER ORDER BY __timestamp;
-- Superset, db_engine_specs/mysql.py: the grain of a year
SELECT DATE(DATE_SUB(`at`, INTERVAL DAYOFYEAR(`at`) - 1 DAY)) AS __timestamp, MAX(total) AS m FROM orders GROUP BY DATE(DATE_SUB(`at`, INTERVAL DAYOFYEAR(`at`) - 1 DAY)) ORDER BY 1;
-- Superset, db_engine_specs/mysql.py: weeks from Monday
SELECT DATE(DATE_SUB(`at`, INTERVAL DAYOFWEEK(DATE_SUB(`at`, INTERVAL 1 DAY)) - 1 DAY)) AS __timestamp, MIN(amount) AS m FROM orders GROUP BY DATE(DATE_SUB(`at`, INTERVAL DAYOFWEEK(DATE_SUB(`at`, INTERVAL 1 DAY)) - 1 DAY)) ORDER BY __timestamp;
-- Superset, db_engine_specs/mysql.py: a column of seconds
SELECT from_unixtime(total) AS t FROM orders WHERE total BETWEEN 0 AND 2000000000 ORDER BY id;
-- Superset, db_engine_specs/mysql.py: a date as a literal
SELECT status, amount FROM orders WHERE `day` >= STR_TO_DATE('2024-01-31', '%Y-%m-%d') ORDER BY id LIMIT 50000;
-- Superset, explore: a table chart
SELECT status AS status, COUNT(*) AS `COUNT(*)`, SUM(amount) AS total_amount FROM orders WHERE status IN ('new', 'paid') GROUP BY status ORDER BY `COUNT(*)` DESC, status LIMIT 0, 100;
-- Superset, explore: top-n of a series
SELECT o.status AS status, DATE(o.`at`) AS __timestamp, SUM(o.qty) AS s FROM orders o JOIN (SELECT status AS status__, SUM(qty) AS mme_inner__ FROM orders GROUP BY status ORDER BY mme_inner__ DESC, status__ LIMIT 2) AS series_limit ON o.status = series_limit.status__ GROUP BY o.status, DATE(o.`at`) ORDER BY s DESC, status, __timestamp LIMIT 1000;
-- Superset, explore: a filter of distinct values
SELECT DISTINCT status FROM orders ORDER BY status LIMIT 1001;
-- Superset, explore: a histogram's values
SELECT amount FROM orders WHERE amount IS NOT NULL ORDER BY amount LIMIT 50000;
-- Metabase, driver/mysql.clj: by minute
SELECT STR_TO_DATE(DATE_FORMAT(`orders`.`at`, '%Y-%m-%d %H:%i'), '%Y-%m-%d %H:%i') AS `at`, COUNT(*) AS `count` FROM `orders` GROUP BY STR_TO_DATE(DATE_FORMAT(`orders`.`at`, '%Y-%m-%d %H:%i'), '%Y-%m-%d %H:%i') ORDER BY STR_TO_DATE(DATE_FORMAT(`orders`.`at`, '%Y-%m-%d %H:%i'), '%Y-%m-%d %H:%i') ASC;
-- Metabase, driver/mysql.clj: by hour
SELECT STR_TO_DATE(DATE_FORMAT(`orders`.`at`, '%Y-%m-%d %H'), '%Y-%m-%d %H') AS h, COUNT(*) AS `count` FROM `orders` GROUP BY STR_TO_DATE(DATE_FORMAT(`orders`.`at`, '%Y-%m-%d %H'), '%Y-%m-%d %H') ORDER BY 1;
-- Metabase, driver/mysql.clj: by day
SELECT DATE(`orders`.`at`) AS d, SUM(`orders`.`amount`) AS `sum` FROM `orders` GROUP BY DATE(`orders`.`at`) ORDER BY DATE(`orders`.`at`) ASC LIMIT 10000;
-- Metabase, driver/mysql.clj: by week
SELECT STR_TO_DATE(CONCAT(YEARWEEK(`orders`.`at`), ' Sunday'), '%X%V %W') AS w, COUNT(*) AS `count` FROM `orders` GROUP BY STR_TO_DATE(CONCAT(YEARWEEK(`orders`.`at`), ' Sunday'), '%X%V %W') ORDER BY 1 ASC;
-- Metabase, driver/mysql.clj: by month
SELECT STR_TO_DATE(CONCAT(DATE_FORMAT(`orders`.`at`, '%Y-%m'), '-01'), '%Y-%m-%d') AS m, AVG(`orders`.`amount`) AS `avg` FROM `orders` GROUP BY STR_TO_DATE(CONCAT(DATE_FORMAT(`orders`.`at`, '%Y-%m'), '-01'), '%Y-%m-%d') ORDER BY 1;
-- Metabase, driver/mysql.clj: by quarter
SELECT STR_TO_DATE(CONCAT(YEAR(`orders`.`at`), '-', ((QUARTER(`orders`.`at`) * 3) - 2), '-01'), '%Y-%m-%d') AS q, COUNT(*) AS `count` FROM `orders` GROUP BY STR_TO_DATE(CONCAT(YEAR(`orders`.`at`), '-', ((QUARTER(`orders`.`at`) * 3) - 2), '-01'), '%Y-%m-%d') ORDER BY 1;
-- Metabase, driver/mysql.clj: by year
SELECT MAKEDATE(YEAR(`orders`.`at`), 1) AS y, COUNT(*) AS `count` FROM `orders` GROUP BY MAKEDATE(YEAR(`orders`.`at`), 1) ORDER BY MAKEDATE(YEAR(`orders`.`at`), 1) ASC;
-- Metabase, driver/mysql.clj: parts of a date
SELECT MINUTE(`at`) AS mi, HOUR(`at`) AS h, DAYOFWEEK(`at`) AS dw, DAYOFMONTH(`at`) AS dm, DAYOFYEAR(`at`) AS dy, WEEK(`at`, 3) AS w, MONTH(`at`) AS m, QUARTER(`at`) AS q, YEAR(`at`) AS y FROM orders ORDER BY id;
-- Metabase, driver/mysql.clj: relative dates
SELECT COUNT(*) AS `count` FROM `orders` WHERE `orders`.`at` >= DATE(DATE_ADD(NOW(6), INTERVAL -30 YEAR)) AND `orders`.`at` < DATE(DATE_ADD(NOW(6), INTERVAL 1 DAY));
-- Metabase, driver/mysql.clj: seconds since 1970
SELECT FROM_UNIXTIME(`orders`.`total`) AS f, FROM_UNIXTIME(`orders`.`total` / 1000) AS g FROM orders WHERE total IN (42, 123456789) ORDER BY id;
-- Metabase, driver/mysql.clj: a regular expression
SELECT id, REGEXP_SUBSTR(`name`, '[A-Z][a-z]+') AS r FROM people ORDER BY id;
-- Metabase, driver/mysql.clj: differences of dates
SELECT id, TIMESTAMPDIFF(year, `at`, '2025-06-01') AS y, TIMESTAMPDIFF(month, `at`, '2025-06-01') AS m, TIMESTAMPDIFF(day, `at`, '2025-06-01') AS d, TIMESTAMPDIFF(hour, `at`, '2025-06-01') AS h, TIMESTAMPDIFF(second, `at`, '2025-06-01') AS s FROM orders ORDER BY id;
-- Metabase, sql query processor: bins
SELECT (FLOOR(((`orders`.`amount` - 0.0) / 25.0)) * 25.0) + 0.0 AS `amount`, COUNT(*) AS `count` FROM `orders` GROUP BY (FLOOR(((`orders`.`amount` - 0.0) / 25.0)) * 25.0) + 0.0 ORDER BY 1;
-- Metabase, sql query processor: a join of a question
SELECT `source`.`status` AS `status`, COUNT(*) AS `count` FROM (SELECT `orders`.`id` AS `id`, `orders`.`status` AS `status`, `People`.`city` AS `People__city` FROM `orders` LEFT JOIN `people` AS `People` ON `orders`.`person` = `People`.`id`) AS `source` WHERE (`source`.`People__city` <> 'Rome') OR (`source`.`People__city` IS NULL) GROUP BY `source`.`status` ORDER BY `count` DESC, `source`.`status` ASC LIMIT 2000;
-- Metabase, sql query processor: a share
SELECT CAST(SUM(CASE WHEN `orders`.`status` = 'new' THEN 1 ELSE 0 END) AS DOUBLE) / COUNT(*) AS `share` FROM `orders`;
-- Metabase, sql query processor: a text filter
SELECT id FROM orders WHERE LOWER(`orders`.`note`) LIKE '%hello%' OR `orders`.`note` LIKE '%\\_%' ORDER BY id;
-- Metabase, sql query processor: the sum if
SELECT SUM(CASE WHEN `orders`.`flag` = 1 THEN `orders`.`amount` ELSE 0.0 END) AS s, COUNT(CASE WHEN `orders`.`qty` > 2 THEN 1 END) AS c FROM orders;
-- Metabase, sql query processor: coalesce, concat, substring
SELECT COALESCE(`email`, 'none') AS e, CONCAT(`name`, ' (', `city`, ')') AS n, SUBSTRING(`name`, 1, 3) AS s, CHAR_LENGTH(`name`) AS l, UPPER(`city`) AS u FROM people ORDER BY id;
-- Grafana, mysql/macros.go: $__timeGroup
SELECT UNIX_TIMESTAMP(`at`) DIV 3600 * 3600 AS time, SUM(amount) AS value FROM orders WHERE `at` BETWEEN FROM_UNIXTIME(1640995200) AND FROM_UNIXTIME(1767225600) GROUP BY 1 ORDER BY 1;
-- Grafana, mysql/macros.go: $__timeGroup with an alias
SELECT UNIX_TIMESTAMP(`at`) DIV 86400 * 86400 AS "time", status AS metric, COUNT(*) AS value FROM orders WHERE `at` IS NOT NULL GROUP BY time, metric ORDER BY time, metric;
-- Grafana, mysql/macros.go: $__time
SELECT UNIX_TIMESTAMP(seen) AS time_sec, total AS value FROM orders WHERE seen IS NOT NULL ORDER BY seen ASC;
-- Grafana, mysql/macros.go: $__timeFilter
SELECT `at` AS time, ratio FROM orders WHERE `at` BETWEEN '2024-01-01T00:00:00Z' AND '2024-12-31T23:59:59Z' ORDER BY `at`;
-- Grafana, mysql/macros.go: $__unixEpochGroup
SELECT total DIV 60 * 60 AS time, AVG(qty) AS value FROM orders WHERE total >= 0 AND total <= 1000000000 GROUP BY total DIV 60 * 60 ORDER BY 1;
-- Grafana, mysql/macros.go: $__timeFrom and $__timeTo
SELECT COUNT(*) FROM orders WHERE `at` > FROM_UNIXTIME(1704067200) AND `at` < FROM_UNIXTIME(1735689600);
-- Grafana, the query builder
SELECT status, AVG(amount) FROM orders WHERE status LIKE 'p%' GROUP BY status ORDER BY AVG(amount) DESC LIMIT 50;
-- Redash, query_runner/mysql.py: the test of a connection
SELECT 1;
-- Redash, the documentation of parameters
SELECT DATE_FORMAT(`at`, '%Y-%m') AS month, COUNT(0) AS total FROM orders WHERE `at` > DATE_SUB('2025-01-01', INTERVAL 12 MONTH) GROUP BY month ORDER BY month DESC;
-- Redash, users' forum: cohorts
SELECT DATE_FORMAT(o.`at`, '%Y-%m-01') AS cohort, TIMESTAMPDIFF(MONTH, MIN(o.`at`), MAX(o.`at`)) AS months, COUNT(DISTINCT o.person) AS people FROM orders o WHERE o.`at` IS NOT NULL GROUP BY cohort ORDER BY cohort;
-- dbt-mysql, macros: date_trunc, dateadd, datediff
SELECT DATE_FORMAT(`at`, '%Y-%m-01') AS m, DATE_ADD(`day`, INTERVAL 1 MONTH) AS a, TIMESTAMPDIFF(DAY, `day`, '2025-01-01') AS d FROM orders ORDER BY id;
-- dbt-mysql, macros: the surrogate key
SELECT SHA2(CONCAT(COALESCE(CAST(id AS CHAR), ''), '-', COALESCE(CAST(status AS CHAR), '')), 256) AS k FROM orders ORDER BY id;
-- dbt, generic tests: not_null
SELECT COUNT(*) AS failures, COUNT(*) != 0 AS should_warn, COUNT(*) != 0 AS should_error FROM (SELECT * FROM orders WHERE person IS NULL) dbt_internal_test;
-- dbt, generic tests: unique
SELECT COUNT(*) AS failures FROM (SELECT status AS unique_field, COUNT(*) AS n_records FROM orders WHERE status IS NOT NULL GROUP BY status HAVING COUNT(*) > 1) dbt_internal_test;
-- dbt, generic tests: accepted_values
WITH all_values AS (SELECT status AS value_field, COUNT(*) AS n_records FROM orders GROUP BY status) SELECT * FROM all_values WHERE value_field NOT IN ('new', 'paid', 'lost') ORDER BY value_field;
-- dbt, generic tests: relationships
WITH child AS (SELECT person AS from_field FROM orders WHERE person IS NOT NULL), parent AS (SELECT id AS to_field FROM people) SELECT from_field FROM child LEFT JOIN parent ON child.from_field = parent.to_field WHERE parent.to_field IS NULL;
-- Looker, the MySQL dialect: dates
SELECT DATE_FORMAT(CONVERT_TZ(orders.`at`, '+00:00', '+02:00'), '%Y-%m-%d %H') AS `orders.created_hour`, COUNT(*) AS `orders.count` FROM orders AS orders GROUP BY 1 ORDER BY 1 DESC LIMIT 500;
-- Looker, the MySQL dialect: weeks
SELECT DATE_FORMAT(TIMESTAMPADD(DAY, (0 - MOD((DAYOFWEEK(orders.`at`) - 1) - 1 + 7, 7)), orders.`at`), '%Y-%m-%d') AS w, COUNT(*) AS c FROM orders WHERE orders.`at` IS NOT NULL GROUP BY 1 ORDER BY 1;
-- Tableau, MySQL connector: a quarter
SELECT ADDDATE(CONCAT(DATE_FORMAT(`orders`.`at`, '%Y-'), (3 * (QUARTER(`orders`.`at`) - 1) + 1), '-01 00:00:00'), INTERVAL 0 SECOND) AS q FROM orders WHERE id = 1;
-- Power BI, MySQL connector: a page of a table
SELECT `$Table`.`id` AS `id`, `$Table`.`status` AS `status`, `$Table`.`amount` AS `amount` FROM `orders` `$Table` ORDER BY `$Table`.`id` LIMIT 4;
-- DBeaver, the data editor
SELECT * FROM people p ORDER BY id LIMIT 0, 200;
-- phpMyAdmin, browse
SELECT SQL_CALC_FOUND_ROWS `id`, `name` FROM `people` ORDER BY `people`.`name` ASC LIMIT 0, 25;
