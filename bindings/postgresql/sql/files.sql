-- Filters in files. The folder is the data directory, because the server can write there.
SET bloomfile.directory = '';
SELECT bloom_contains('bloomfile_regress.bloom', 7);
SELECT set_config('bloomfile.directory', current_setting('data_directory'), false) <> '' AS set;
\set file 'current_setting(''data_directory'') || ''/bloomfile_regress.bloom'''
SELECT lo_from_bytea(424242, bloom_build(k)) FROM generate_series(1, 1000) k;
SELECT lo_export(424242, :file);
SELECT bloom_contains('bloomfile_regress.bloom', 7), bloom_contains('bloomfile_regress.bloom', -7);
SELECT bloom_info('bloomfile_regress.bloom') -> 'n' AS n;
SELECT count(*) FROM generate_series(1, 1000) k WHERE NOT bloom_contains('bloomfile_regress.bloom', k);
SELECT bloom_contains('bloomfile_regress.bloom', '7');
SELECT bloom_contains('bloomfile_regress.bloom', NULL::text) IS NULL AS null_key;
SELECT bloom_contains(NULL::text, 7);
-- a new file is seen by the next statement
COPY (SELECT 1 WHERE false) TO PROGRAM 'rm bloomfile_regress.bloom';
SELECT lo_unlink(424242);
SELECT lo_from_bytea(424242, bloom_build(k)) FROM generate_series(2001, 3000) k;
SELECT lo_export(424242, :file);
SELECT bloom_contains('bloomfile_regress.bloom', 7), bloom_contains('bloomfile_regress.bloom', 2007);
-- names stay in the folder
SELECT bloom_contains('', 7);
SELECT bloom_contains('..', 7);
SELECT bloom_contains('../postgresql.conf', 7);
SELECT bloom_contains('/etc/passwd', 7);
SELECT bloom_contains('base', 7);
SELECT bloom_contains('PG_VERSION', 7);
SELECT bloom_contains('missing', 7);
-- only a superuser chooses the folder
CREATE ROLE bloomfile_regress_user;
GRANT CREATE ON SCHEMA public TO bloomfile_regress_user;
SET ROLE bloomfile_regress_user;
SET bloomfile.directory = '/etc';
SHOW bloomfile.directory;
SET bloomfile.other = '/etc';
SELECT bloom_contains('bloomfile_regress.bloom', 2007);
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM bloomfile_regress_user;
DROP ROLE bloomfile_regress_user;
SET bloomfile.directory = 'relative';
SELECT bloom_contains('bloomfile_regress.bloom', 2007);
RESET bloomfile.directory;
