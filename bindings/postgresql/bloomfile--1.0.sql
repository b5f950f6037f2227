-- SPDX-License-Identifier: MIT
-- The functions of the extension. IMMUTABLE: the answer for a bytea never changes. STABLE: all rows of a statement
-- use the same version of a file, if the client's message names at most 32 files. bloom_contains() is not STRICT,
-- because a NULL filter is an error.
\echo Use "CREATE EXTENSION bloomfile" to load this file. \quit

CREATE FUNCTION bloom_contains(filter bytea, key text) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloom_contains_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION bloom_contains(filter bytea, key bytea) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloom_contains_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION bloom_contains(filter bytea, key bigint) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloom_contains_bigint' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION bloom_contains(name text, key text) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloom_file_contains_text' LANGUAGE C STABLE PARALLEL SAFE;

CREATE FUNCTION bloom_contains(name text, key bytea) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloom_file_contains_bytea' LANGUAGE C STABLE PARALLEL SAFE;

CREATE FUNCTION bloom_contains(name text, key bigint) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloom_file_contains_bigint' LANGUAGE C STABLE PARALLEL SAFE;

-- Without functions for character(n), the implicit cast to text would remove trailing blanks.
CREATE FUNCTION bloom_contains(filter bytea, key character) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloom_refuse_character' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION bloom_contains(name text, key character) RETURNS boolean
AS 'MODULE_PATHNAME', 'bloom_refuse_character' LANGUAGE C STABLE PARALLEL SAFE;

CREATE FUNCTION bloom_info(filter bytea) RETURNS jsonb
AS 'MODULE_PATHNAME', 'bloom_info' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION bloom_info(name text) RETURNS jsonb
AS 'MODULE_PATHNAME', 'bloom_file_info' LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION bloom_build_final(internal) RETURNS bytea
AS 'MODULE_PATHNAME', 'bloom_build_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION bloom_build_step(internal, key text) RETURNS internal
AS 'MODULE_PATHNAME', 'bloom_build_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_build(key text) (
    SFUNC = bloom_build_step, STYPE = internal, FINALFUNC = bloom_build_final, PARALLEL = SAFE);

CREATE FUNCTION bloom_build_step(internal, key text, fpr double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloom_build_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_build(key text, fpr double precision) (
    SFUNC = bloom_build_step, STYPE = internal, FINALFUNC = bloom_build_final, PARALLEL = SAFE);

CREATE FUNCTION bloom_build_step(internal, key text, fpr double precision, layout text) RETURNS internal
AS 'MODULE_PATHNAME', 'bloom_build_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_build(key text, fpr double precision, layout text) (
    SFUNC = bloom_build_step, STYPE = internal, FINALFUNC = bloom_build_final, PARALLEL = SAFE);

CREATE FUNCTION bloom_build_step(internal, key bytea) RETURNS internal
AS 'MODULE_PATHNAME', 'bloom_build_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_build(key bytea) (
    SFUNC = bloom_build_step, STYPE = internal, FINALFUNC = bloom_build_final, PARALLEL = SAFE);

CREATE FUNCTION bloom_build_step(internal, key bytea, fpr double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloom_build_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_build(key bytea, fpr double precision) (
    SFUNC = bloom_build_step, STYPE = internal, FINALFUNC = bloom_build_final, PARALLEL = SAFE);

CREATE FUNCTION bloom_build_step(internal, key bytea, fpr double precision, layout text) RETURNS internal
AS 'MODULE_PATHNAME', 'bloom_build_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_build(key bytea, fpr double precision, layout text) (
    SFUNC = bloom_build_step, STYPE = internal, FINALFUNC = bloom_build_final, PARALLEL = SAFE);

CREATE FUNCTION bloom_build_step(internal, key bigint) RETURNS internal
AS 'MODULE_PATHNAME', 'bloom_build_bigint' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_build(key bigint) (
    SFUNC = bloom_build_step, STYPE = internal, FINALFUNC = bloom_build_final, PARALLEL = SAFE);

CREATE FUNCTION bloom_build_step(internal, key bigint, fpr double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloom_build_bigint' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_build(key bigint, fpr double precision) (
    SFUNC = bloom_build_step, STYPE = internal, FINALFUNC = bloom_build_final, PARALLEL = SAFE);

CREATE FUNCTION bloom_build_step(internal, key bigint, fpr double precision, layout text) RETURNS internal
AS 'MODULE_PATHNAME', 'bloom_build_bigint' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_build(key bigint, fpr double precision, layout text) (
    SFUNC = bloom_build_step, STYPE = internal, FINALFUNC = bloom_build_final, PARALLEL = SAFE);

CREATE FUNCTION bloom_build_step(internal, key character) RETURNS internal
AS 'MODULE_PATHNAME', 'bloom_refuse_character' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_build(key character) (
    SFUNC = bloom_build_step, STYPE = internal, FINALFUNC = bloom_build_final, PARALLEL = SAFE);

CREATE FUNCTION bloom_build_step(internal, key character, fpr double precision) RETURNS internal
AS 'MODULE_PATHNAME', 'bloom_refuse_character' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_build(key character, fpr double precision) (
    SFUNC = bloom_build_step, STYPE = internal, FINALFUNC = bloom_build_final, PARALLEL = SAFE);

CREATE FUNCTION bloom_build_step(internal, key character, fpr double precision, layout text) RETURNS internal
AS 'MODULE_PATHNAME', 'bloom_refuse_character' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE bloom_build(key character, fpr double precision, layout text) (
    SFUNC = bloom_build_step, STYPE = internal, FINALFUNC = bloom_build_final, PARALLEL = SAFE);
