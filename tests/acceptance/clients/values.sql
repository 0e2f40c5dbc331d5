SELECT CAST(-7 AS TINYINT) AS a_tinyint, -70000 AS an_int, 1099511627776 AS a_bigint,
CAST(1.5 AS DOUBLE) AS a_double, CAST(-123.40 AS DECIMAL(12,2)) AS a_decimal, 'Größe' AS a_text,
X'00FF' AS some_bytes, DATE'2026-11-21' AS a_date, TIMESTAMP'2026-11-21 10:00:00.000005' AS a_timestamp,
TIMESTAMP_NTZ'2026-11-21 10:00:00' AS a_datetime, true AS a_bool, CAST(NULL AS INT) AS nothing FROM range(1)
