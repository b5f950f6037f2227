-- Damage is an error, never a "no".
CREATE FUNCTION answer(image bytea, k bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE state text;
BEGIN
    RETURN bloom_contains(image, k);
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE;
    RETURN state;
END $$;
CREATE TABLE f AS SELECT bloom_build(k) AS image FROM generate_series(1, 1000) k;
-- each byte of the header, and some of the body
SELECT answer(set_byte(image, i, get_byte(image, i) # 255), 7), count(*) FROM f, generate_series(0, 511) i GROUP BY 1 ORDER BY 2;
SELECT answer(set_byte(image, i, get_byte(image, i) # 1), 7), count(*) FROM f, generate_series(512, 1791, 10) i GROUP BY 1;
-- each length up to the header, and some beyond
SELECT answer(substr(image, 1, i), 7), count(*) FROM f, generate_series(0, 600) i GROUP BY 1 ORDER BY 2;
SELECT answer(image || '\x00', 7) FROM f;
SELECT bloom_contains('\x'::bytea, 7);
SELECT bloom_contains('apple'::bytea, 7);
SELECT bloom_info('apple'::bytea);
SELECT bloom_contains(set_byte(image, 600, get_byte(image, 600) # 1), 7) FROM f;
-- an empty bytea in the row after a filter on disk, and after one that is opened in place
CREATE TABLE two (number int, image bytea);
ALTER TABLE two ALTER image SET STORAGE EXTERNAL;
INSERT INTO two SELECT 1, bloom_build(k) FROM generate_series(1, 100000) k;
INSERT INTO two VALUES (2, '');
SELECT number, bloom_contains(image, 7) FROM two;
SELECT number, bloom_contains(CASE number WHEN 1 THEN image || '' ELSE substr(image, 1, 0) END, 7) FROM two;
DROP TABLE two;
-- two images with the same header, body checksum and counts: the forged one lacks key 1
SELECT name, bloom_contains(image, 1) FROM
    (SELECT bloom_build(i::bigint) AS whole FROM generate_series(1, 40) i) b,
    LATERAL (VALUES (1, 'forged', overlay(whole PLACING '\x00008100100cca05040890402000c0226888240000000330000040843dde00438559044100040460038840609c2800419068301b1c080c950101842428028410' FROM 513)),
                    (2, 'whole', whole), (3, 'forged', overlay(whole PLACING '\x00008100100cca05040890402000c0226888240000000330000040843dde00438559044100040460038840609c2800419068301b1c080c950101842428028410' FROM 513)))
        v (number, name, image) ORDER BY number;
-- the same in a file: a page is checked when it is first used
SELECT set_config('bloomfile.directory', current_setting('data_directory'), false) <> '' AS set;
\set file 'current_setting(''data_directory'') || ''/bloomfile_regress.bloom'''
COPY (SELECT 1 WHERE false) TO PROGRAM 'rm bloomfile_regress.bloom';
SELECT lo_unlink(424242);
SELECT lo_from_bytea(424242, set_byte(image, 600, get_byte(image, 600) # 1)) FROM f;
SELECT lo_export(424242, :file);
SELECT bloom_contains('bloomfile_regress.bloom', 7);
SELECT bloom_info('bloomfile_regress.bloom') -> 'n' AS n;
SELECT lo_unlink(424242);
DROP TABLE f;
DROP FUNCTION answer;
COPY (SELECT 1 WHERE false) TO PROGRAM 'rm bloomfile_regress.bloom';
DROP EXTENSION bloomfile;
