-- bloom_build(): rates, layouts, empty sets, groups, windows, spilling.
SELECT bloom_info(bloom_build(k)) ->> 'n' AS n FROM (VALUES (1), (NULL), (1), (2)) v(k);
SELECT bloom_info(bloom_build(k)) -> 'n' AS n, bloom_contains(bloom_build(k), 1) FROM (SELECT 1 AS k WHERE false) none;
SELECT bloom_build(k, 1) FROM (SELECT 1 AS k WHERE false) none;
SELECT bloom_build(k, 0.01, 'round') FROM (SELECT 1 AS k WHERE false) none;
SELECT i ->> 'layout' AS layout, i ->> 'fpr' AS fpr
  FROM (SELECT bloom_info(bloom_build(k, 0.001, 'classic')) FROM (SELECT 1 AS k WHERE false) none) v(i);
SELECT bloom_build(NULL::text, 1);
SELECT bloom_info(bloom_build(NULL::text)) ->> 'key_kind' AS kind;
SELECT layout, info ->> 'layout' AS layout, info ->> 'fpr' AS fpr, info ->> 'key_kind' AS kind
  FROM unnest(ARRAY['blocked', 'classic', 'counting', 'ribbon']) layout,
       LATERAL (SELECT bloom_info(bloom_build(k::text, 0.001, layout)) AS info FROM generate_series(1, 100) k) i;
SELECT bloom_info(bloom_build(k, 0.25)) ->> 'fpr' AS fpr FROM generate_series(1, 100) k;
SELECT bloom_info(bloom_build(k, NULL, NULL)) ->> 'layout' AS layout FROM generate_series(1, 100) k;
SELECT bloom_build(k, 0) FROM generate_series(1, 100) k;
SELECT bloom_build(k, 'NaN') FROM generate_series(1, 100) k;
SELECT bloom_build(k, 0.01, 'round') FROM generate_series(1, 100) k;
SELECT bloom_build(k, 1e-300) FROM generate_series(1, 100) k;
-- order and repetition do not matter
SELECT bloom_build(k ORDER BY k) = bloom_build(k ORDER BY -k) FROM (SELECT * FROM generate_series(1, 1000) UNION ALL SELECT 7) v(k);
SELECT g % 3 AS g, bloom_info(bloom_build(g)) -> 'n' AS n FROM generate_series(1, 1000) g GROUP BY 1 ORDER BY 1;
SELECT k, bloom_info(bloom_build(k) OVER (ORDER BY k)) -> 'n' AS n FROM generate_series(1, 3) k;
SELECT k, bloom_info(bloom_build(k, 0.1) OVER (ORDER BY k ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING)) -> 'n' AS n FROM generate_series(1, 2) k;
-- without rows, a constant of ORDER BY is no option
SELECT bloom_info(bloom_build(k ORDER BY 7)) ->> 'fpr' AS fpr, bloom_info(bloom_build(k, 0.25 ORDER BY 'x'::text)) ->> 'fpr' AS given
  FROM generate_series(1, 3) k WHERE k > 3;
-- beyond work_mem
SET work_mem = '1MB';
SELECT bloom_info(bloom_build(k)) -> 'n' AS n FROM generate_series(1, 300000) k;
RESET work_mem;
-- as a generated column, because it is immutable
CREATE TABLE t (k bigint, image bytea, maybe boolean GENERATED ALWAYS AS (bloom_contains(image, k)) STORED);
INSERT INTO t SELECT 3, bloom_build(k) FROM generate_series(1, 10) k;
SELECT k, maybe FROM t;
DROP TABLE t;
SELECT proname, provolatile, proparallel, proisstrict, count(*) FROM pg_proc WHERE proname ~ '^bloom_' AND prokind = 'f' GROUP BY 1, 2, 3, 4 ORDER BY 1, 2;
