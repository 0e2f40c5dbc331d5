-- MySQL's manual, Aggregate Functions
SELECT COUNT(*), COUNT(amount), COUNT(DISTINCT person), COUNT(DISTINCT person, status), SUM(amount), SUM(qty), SUM(total), SUM(ratio), AVG(amount), AVG(qty), MIN(amount), MAX(note), MIN(qty), MAX(at) FROM orders;
SELECT COUNT(*), SUM(amount), AVG(amount), MAX(amount), MIN(status) FROM orders WHERE id > 100;
SELECT status, COUNT(*), SUM(amount), AVG(qty), MAX(day) FROM orders GROUP BY status ORDER BY status;
SELECT person, AVG(amount), AVG(amount) * 3, SUM(amount) / COUNT(*), SUM(qty) / 3, AVG(total) FROM orders GROUP BY person ORDER BY person;
SELECT SUM(code), AVG(code), SUM(status = 'new'), AVG(flag), SUM(DISTINCT qty), AVG(DISTINCT qty) FROM orders WHERE id <> 8;
SELECT SUM(1), SUM(1.5), AVG(2), MAX(TRUE), COUNT(NULL), SUM(NULL), COUNT(1) FROM orders;
SELECT person, GROUP_CONCAT(id ORDER BY id), GROUP_CONCAT(status ORDER BY id DESC SEPARATOR '; '), GROUP_CONCAT(DISTINCT status ORDER BY status) FROM orders GROUP BY person ORDER BY person;
SELECT GROUP_CONCAT(id, ':', status ORDER BY id SEPARATOR '|'), GROUP_CONCAT(note ORDER BY id SEPARATOR '') FROM orders;
SELECT GROUP_CONCAT(amount ORDER BY amount DESC, id), GROUP_CONCAT(DISTINCT qty ORDER BY qty DESC SEPARATOR ' ') FROM orders;
SELECT GROUP_CONCAT(id) FROM orders WHERE id > 100;
SELECT LENGTH(GROUP_CONCAT(REPEAT(note, 40) ORDER BY id)), RIGHT(GROUP_CONCAT(REPEAT('日', 100) ORDER BY id), 2) FROM orders;
SELECT STDDEV(qty), VARIANCE(qty) FROM orders;
SELECT BIT_OR(qty) FROM orders;
-- MySQL's manual, GROUP BY
SELECT status AS s, COUNT(*) AS c FROM orders GROUP BY s HAVING c > 1 ORDER BY c DESC, s;
SELECT status, COUNT(*) FROM orders GROUP BY 1 HAVING COUNT(*) > 1 ORDER BY 2 DESC, 1;
SELECT YEAR(`at`) AS y, MONTH(`at`) AS m, SUM(amount) FROM orders GROUP BY y, m ORDER BY y DESC, m;
SELECT status, flag, SUM(qty) FROM orders GROUP BY status, flag HAVING SUM(qty) IS NOT NULL AND MAX(amount) > 1 ORDER BY status, flag;
SELECT COUNT(*) AS c FROM orders HAVING c > 3;
SELECT id FROM orders HAVING id > 8;
SELECT UPPER(status) AS u, COUNT(*) FROM orders GROUP BY UPPER(status) ORDER BY u;
SELECT qty % 2 AS odd, GROUP_CONCAT(id ORDER BY id) AS ids FROM orders GROUP BY odd ORDER BY odd;
SELECT status, SUM(qty) FROM orders WHERE status IN ('new', 'paid') GROUP BY status WITH ROLLUP ORDER BY status;
SELECT CASE WHEN GROUPING(status) = 1 THEN 'all' ELSE status END AS s, COUNT(*) FROM orders GROUP BY status WITH ROLLUP ORDER BY GROUPING(status), s;
SELECT DISTINCT status, flag FROM orders ORDER BY status, flag;
SELECT DISTINCT YEAR(day) FROM orders ORDER BY 1;
SELECT person, COUNT(*) AS n, MAX(amount) AS top FROM orders GROUP BY person ORDER BY n DESC, top DESC, person LIMIT 2 OFFSET 1;
SELECT note, person FROM orders GROUP BY person;
-- MySQL's manual, ORDER BY and LIMIT
SELECT id, amount FROM orders ORDER BY amount, id;
SELECT id, amount FROM orders ORDER BY amount DESC, id DESC LIMIT 3;
SELECT id FROM orders ORDER BY person IS NULL, person DESC, id LIMIT 2, 5;
SELECT id FROM orders ORDER BY FIELD(status, 'paid', 'new', 'lost'), id;
SELECT id, amount * qty AS v FROM orders ORDER BY v DESC, id LIMIT 3;
SELECT id FROM orders ORDER BY -qty, id;
SELECT id FROM orders ORDER BY LENGTH(note) DESC, id LIMIT 0;
SELECT id, note FROM orders ORDER BY 2, 1 LIMIT 18446744073709551615 OFFSET 8;
-- MySQL's manual, Window Functions
SELECT id, ROW_NUMBER() OVER (ORDER BY id), RANK() OVER (ORDER BY status), DENSE_RANK() OVER (ORDER BY status), NTILE(3) OVER (ORDER BY id) FROM orders ORDER BY id;
SELECT id, SUM(qty) OVER (PARTITION BY person ORDER BY id), AVG(amount) OVER (PARTITION BY person), COUNT(*) OVER (), MAX(total) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM orders ORDER BY id;
SELECT id, LAG(qty) OVER w, LEAD(qty, 2) OVER w, LAG(qty, 1, 0) OVER w, FIRST_VALUE(status) OVER w, LAST_VALUE(status) OVER w, NTH_VALUE(status, 2) OVER w FROM orders WINDOW w AS (ORDER BY id) ORDER BY id;
SELECT id, PERCENT_RANK() OVER (ORDER BY qty), CUME_DIST() OVER (ORDER BY qty) FROM orders WHERE id IN (1, 2, 6, 7, 8) ORDER BY id;
SELECT status, SUM(qty) AS q, SUM(SUM(qty)) OVER (ORDER BY status) AS running, RANK() OVER (ORDER BY SUM(qty) DESC) AS r FROM orders GROUP BY status ORDER BY status;
SELECT * FROM (SELECT id, person, ROW_NUMBER() OVER (PARTITION BY person ORDER BY amount DESC, id) AS rn FROM orders) x WHERE rn = 1 ORDER BY id;
SELECT id, SUM(amount) OVER (ORDER BY day RANGE BETWEEN INTERVAL 31 DAY PRECEDING AND CURRENT ROW) FROM orders WHERE day IS NOT NULL ORDER BY id;
SELECT id, amount - LAG(amount) OVER (ORDER BY id) AS diff, amount / SUM(amount) OVER () AS part FROM orders ORDER BY id;
