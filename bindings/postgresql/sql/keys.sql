-- The kinds of keys, NULLs, and what bloom_info() shows.
CREATE EXTENSION bloomfile;
CREATE TABLE f AS
    SELECT (SELECT bloom_build(k) FROM (VALUES ('apple'), ('pear'), ('Plüm')) v(k)) AS text_keys,
           (SELECT bloom_build(k) FROM generate_series(1, 1000) k) AS integers,
           (SELECT bloom_build(k) FROM (VALUES ('\x00ff'::bytea), ('\x')) v(k)) AS bytes;
-- text
SELECT bloom_contains(text_keys, 'apple'), bloom_contains(text_keys, 'Plüm'), bloom_contains(text_keys, 'stone') FROM f;
SELECT bloom_contains(text_keys, 'apple'::varchar), bloom_contains(text_keys, convert_to('Plüm', 'UTF8')) FROM f;
-- integers of every width are one key
SELECT bloom_contains(integers, 7::smallint), bloom_contains(integers, 7), bloom_contains(integers, 7::bigint),
       bloom_contains(integers, -7) FROM f;
SELECT count(*) FROM f, generate_series(1, 1000) k WHERE bloom_contains(integers, k);
SELECT count(*) < 30 AS about_one_percent FROM f, generate_series(1001, 2000) k WHERE bloom_contains(integers, k);
-- bytes
SELECT bloom_contains(bytes, '\x00ff'::bytea), bloom_contains(bytes, '\x'::bytea), bloom_contains(bytes, '\x01'::bytea) FROM f;
-- another kind is an error that names both kinds, also if the sizes agree
SELECT bloom_contains(integers, '7') FROM f;
SELECT bloom_contains(integers, int8send(7)) FROM f;
SELECT bloom_contains(text_keys, 7) FROM f;
SELECT bloom_contains(bytes, 7) FROM f;
-- an untyped literal or parameter is text
SELECT bloom_contains(bytes, '\x00ff') FROM f;
PREPARE untyped AS SELECT bloom_contains(bytes, $1) FROM f;
EXECUTE untyped('\x00ff');
-- character(n) is refused, because its cast to text changes the key
SELECT bloom_contains(text_keys, 'apple'::char(9)) FROM f;
SELECT bloom_contains('name', 'apple'::char(9));
SELECT bloom_build(k::char(9)) FROM (VALUES ('apple')) v(k);
SELECT bloom_build(k::char(9), 0.01) FROM (VALUES ('apple')) v(k);
SELECT bloom_build(k::char(9), 0.01, 'ribbon') FROM (VALUES ('apple')) v(k);
SELECT bloom_contains(text_keys, 'apple'::char(9)::text), bloom_contains(text_keys, 'apple'::name) FROM f;
SELECT bloom_contains(integers, 7.0) FROM f;
-- NULL
SELECT bloom_contains(integers, NULL::bigint) IS NULL AS null_key FROM f;
SELECT bloom_contains(NULL::bytea, 7);
SELECT bloom_info(NULL::bytea) IS NULL AS null_info;
SELECT jsonb_pretty(bloom_info(integers)) FROM f;
-- a call with many filters, on disk and inline
CREATE TABLE many AS SELECT g, bloom_build(g * 1000000 + k) AS image FROM generate_series(1, 9) g, generate_series(1, 400 * g * g) k GROUP BY g;
ALTER TABLE many ALTER image SET STORAGE EXTERNAL;
SELECT count(*) FROM many, generate_series(1, 400) k WHERE NOT bloom_contains(image, g * 1000000 + k);
SELECT count(*) FROM generate_series(1, 400) k, many WHERE NOT bloom_contains(image, g * 1000000 + k);
SELECT bool_and(bloom_contains(image, g * 1000000 + 1)), bool_or(bloom_contains(image, 5)) FROM many;
-- an image that no table stores
WITH b AS MATERIALIZED (SELECT bloom_build(k) AS image FROM generate_series(1, 100000) k)
SELECT count(*) FROM b, generate_series(1, 1000) k WHERE bloom_contains(image, k);
-- PL/pgSQL gives one call other images
DO $$
DECLARE image bytea;
BEGIN
    FOR i IN 1..9 LOOP
        SELECT bloom_build(k) INTO image FROM generate_series(i, i) k;
        ASSERT bloom_contains(image, i), 'a key is missing';
        ASSERT NOT bloom_contains(image, i + 1), 'the filter of another row';
    END LOOP;
END $$;
DROP TABLE f, many;
