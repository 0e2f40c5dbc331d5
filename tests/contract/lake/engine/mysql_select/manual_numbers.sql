-- MySQL's manual, Arithmetic Operators
SELECT 3+5, 3-5, -2, 3*5, 18014398509481984*18014398509481984.0, 3/5, 102/(1-1), 5 DIV 2, -5 DIV 2, 5 DIV -2, 5 DIV 0, 10 MOD 3, 10 % 3, -7 % 3, 5 % 0, 5.5 % 2;
SELECT id, qty / 2, qty / 3, amount / 3, amount / qty, total / 7, ratio / 3, 1 / qty, 0 / 5 FROM orders WHERE id <> 3 ORDER BY id;
SELECT id, qty DIV 2, total DIV 10, amount DIV 2, qty MOD 2, qty % 3, amount % 3, total % 4, MOD(total, 5), MOD(amount, 0.7) FROM orders ORDER BY id;
SELECT id, amount * 2, amount * 1.5, amount + 1, amount - 0.001, qty * qty, qty * 1.10, total + 1, -amount, -total, amount * amount FROM orders ORDER BY id;
SELECT 1/3, 2/3, 1/3*3, (1/3)*3 = 1, 100/3.0, 1.0/3, 1/3.00, 5/2+1, 10/4*4, 7.50/2.5, 1/8/8;
SELECT 1.5 + 2, 1.50 * 2, 1.5 * 1.5, 0.1 + 0.2, 1e0 / 3, 0.1e0 + 0.2e0, 1e3, 1.5e-3, 3.0, .5, 1., 00012, 1.10;
SELECT amount * 1.19 AS gross, ROUND(amount * 1.19, 2) AS rounded, amount / 100 * 19 AS tax FROM orders ORDER BY id;
SELECT '10' + 5, '1.5' * 2, 'x' + 1, 1 + TRUE, NULL + 1, 5 - '3', '7' / 2, '7' DIV 2, TRUE + TRUE;
SELECT (amount > 10) + (qty > 3), (qty > 3) * 10, -(qty > 3), SUM(qty > 3) FROM orders WHERE id = 1 GROUP BY amount, qty;
SELECT 6 & 4, qty & 1, qty & 6, 5 | 2, 5 ^ 1 FROM orders ORDER BY id;
SELECT 1 << 2, ~0;
-- MySQL's manual, Mathematical Functions
SELECT ABS(2), ABS(-32), ABS(amount), ABS(total), ABS(ratio), SIGN(-32), SIGN(amount), SIGN(0) FROM orders WHERE id <> 3 ORDER BY id;
SELECT CEILING(1.23), CEIL(-1.23), FLOOR(1.23), FLOOR(-1.23), CEIL(amount), FLOOR(amount), FLOOR(ratio), CEIL(qty) FROM orders WHERE id <> 3 ORDER BY id;
SELECT ROUND(-1.23), ROUND(-1.58), ROUND(1.58), ROUND(1.298, 1), ROUND(1.298, 0), ROUND(23.298, -1), ROUND(2.5), ROUND(25E-1), ROUND(150, -2), ROUND(1.5, 3);
SELECT ROUND(amount), ROUND(amount, 1), ROUND(amount, -1), ROUND(qty, -1), ROUND(total, -3), ROUND(ratio, 2), ROUND(ratio), ROUND(amount, 4) FROM orders WHERE id <> 3 ORDER BY id;
SELECT TRUNCATE(1.223, 1), TRUNCATE(1.999, 1), TRUNCATE(1.999, 0), TRUNCATE(-1.999, 1), TRUNCATE(122, -2), TRUNCATE(10.28*100, 0), TRUNCATE(amount, 1), TRUNCATE(ratio, 1) FROM orders WHERE id <> 3 ORDER BY id;
SELECT SQRT(4), SQRT(20), SQRT(-16), POW(2, 2), POW(2, -2), POWER(10, 3), EXP(0), LN(1), LN(0), LOG(1), LOG(2, 65536), LOG2(65536), LOG10(100), LOG10(-100), PI(), DEGREES(PI()), RADIANS(90);
SELECT GREATEST(2, 0), GREATEST(34.0, 3.0, 5.0, 767.0), GREATEST('B', 'A', 'C'), LEAST(2, 0), LEAST('B', 'A'), GREATEST(1, NULL), LEAST(amount, qty), GREATEST(qty, 2.5) FROM orders ORDER BY id;
SELECT RAND() < 1, SIN(1);
SELECT CONV(10+'10'+'10'+X'0a', 10, 10);
-- MySQL's manual, Comparison Functions and Operators
SELECT 1 <=> 1, NULL <=> NULL, 1 <=> NULL, 1 = NULL, 1 IS NULL, 0 IS NOT NULL, 1 IS TRUE, 0 IS FALSE, NULL IS UNKNOWN, NULL IS NOT TRUE, 2 IS TRUE;
SELECT id FROM orders WHERE person <=> NULL;
SELECT id FROM orders WHERE NOT (person <=> 1) ORDER BY id;
SELECT 1 BETWEEN 2 AND 3, 'b' BETWEEN 'a' AND 'c', 2 BETWEEN 2 AND '3', 2 BETWEEN 2 AND 'x-3', 5 NOT BETWEEN 1 AND 3;
SELECT COALESCE(NULL, 1), COALESCE(NULL, NULL, NULL), ISNULL(1+1), ISNULL(1/0), ISNULL(note), IFNULL(1, 0), IFNULL(NULL, 10), IFNULL(1/0, 10), IFNULL(1/0, 'yes') FROM orders WHERE id = 5;
SELECT 2 IN (0, 3, 5, 7), 'wefwf' IN ('wee', 'wefwf', 'weg'), NULL IN (1, 2), 3 IN (1, NULL), (1, 2) IN ((3, 4), (1, 2)), (1, 'a') = (1, 'a'), 2 NOT IN (1, 3);
SELECT id FROM orders WHERE (person, status) IN ((1, 'new'), (2, 'PAID')) ORDER BY id;
SELECT id FROM orders WHERE amount IN (10.5, 3.33, 7) ORDER BY id;
SELECT id FROM orders WHERE qty IN (1, 2.0, '3') ORDER BY id;
SELECT id FROM orders WHERE flag ORDER BY id;
SELECT id FROM orders WHERE NOT flag ORDER BY id;
SELECT id FROM orders WHERE flag = TRUE AND qty > 1 OR flag IS NULL ORDER BY id;
SELECT id FROM orders WHERE !flag ORDER BY id;
SELECT id FROM orders WHERE flag XOR qty > 4 ORDER BY id;
SELECT 1 XOR 1, 1 XOR 0, 1 XOR NULL, 1 AND 1, 0 AND NULL, 1 OR NULL, NOT 10, NOT NULL, ! (1+1), 1 && 0, 0 || 0;
-- MySQL's manual, Flow Control Functions
SELECT IF(1>2, 2, 3), IF(1<2, 'yes', 'no'), IF(STRCMP('test', 'test1'), 'no', 'yes'), IF(NULL, 1, 2), IF('a', 1, 2), IF(qty, 'q', NULL), IF(qty > 2, amount, 0), IF(flag, 1, 'none') FROM orders ORDER BY id;
SELECT CASE 1 WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'more' END, CASE WHEN 1>0 THEN 'true' ELSE 'false' END, CASE status WHEN 'new' THEN 1 WHEN 'paid' THEN 2.5 END, CASE WHEN qty > 5 THEN 'many' WHEN qty > 2 THEN qty ELSE NULL END FROM orders ORDER BY id;
SELECT NULLIF(1, 1), NULLIF(1, 2), NULLIF(status, 'new'), NULLIF(qty, 7), NULLIF(amount, 0) FROM orders ORDER BY id;
SELECT IFNULL(amount, 0), IFNULL(note, 'none'), IFNULL(qty, 'x'), IFNULL(ratio, 1), COALESCE(amount, qty, 1.5), COALESCE(code, id) FROM orders ORDER BY id;
SELECT 0 = -0, 1 > 0.5, '1' > 0.5, 1.0 = 1, 0.1 = 1e-1, 10000000000 = '10000000000', 9007199254740993 = '9007199254740993';
SELECT ratio, -ratio, ratio * 2, ratio = 0.1, ratio > 1 FROM orders ORDER BY id;
SELECT score, score * 2, score + 1, ROUND(score, 1) FROM people ORDER BY id;
