/* SPDX-License-Identifier: MIT
 *
 * Extension of PostgreSQL: bloom_contains(), bloom_build() and bloom_info().
 *
 * Errors end by longjmp. So a list of the session or a callback of a memory context has each
 * handle.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/xact.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#define SQL_OUTPUT StringInfoData
#define SQL_PRINT  appendStringInfo
#include "../sql/info.h"

PG_MODULE_MAGIC;

#define FILES_KEPT 32 /* open files of a session */
#define IN_BYTEA   "the filter in the bytea"

/* An open file of the session. */
struct file {
    struct sql_filter filter; /* handle NULL: it could not be opened */
    struct stat status;
    TimestampTz checked; /* start of the last message or transaction that checked the path */
    char path[MAXPGPATH];
};

static struct file files[FILES_KEPT];
static char *directory; /* the setting bloomfile.directory */

/* ------------------------------------------------------------------------------------- errors */

/* Raises an error of the library, if `error` is not 0. `subject` is the name of the filter or of a
 * function. */
static void check(const char *subject, int error)
{
    static const int states[] = {
        [BLOOMFILE_KIND_DAMAGED] = ERRCODE_DATA_CORRUPTED,
        [BLOOMFILE_KIND_FOREIGN] = ERRCODE_INVALID_BINARY_REPRESENTATION,
        [BLOOMFILE_KIND_NEWER] = ERRCODE_FEATURE_NOT_SUPPORTED,
        [BLOOMFILE_KIND_STATE] = ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        [BLOOMFILE_KIND_USAGE] = ERRCODE_INVALID_PARAMETER_VALUE,
        [BLOOMFILE_KIND_CAPACITY] = ERRCODE_PROGRAM_LIMIT_EXCEEDED,
    };
    const int state = states[Min(bloomfile_error_kind(error), BLOOMFILE_KIND_CAPACITY)];
    if (error == 0)
        return;
    errno = error == ELOOP ? EACCES : error; /* ELOOP has no SQLSTATE */
    ereport(ERROR, (error > 0 ? errcode_for_file_access() : errcode(state),
                    errmsg("%s: %s", subject, sql_strerror(error)),
                    errdetail("The error is %s.", bloomfile_errname(error))));
}

/* Raises the error that a key is of another kind than the filter's. */
static pg_attribute_noreturn() void raise_kind(const struct bloomfile_info *info,
                                               const struct sql_key *key)
{
    static const char *const types[] = {
        "", "text", "text", "bigint", "bytea of %zu bytes", "bytea"
    };
    const uint32_t kind = key->kind == BLOOMFILE_KEYS_BYTES ? BLOOMFILE_KEYS_FIXED : key->kind;
    const char *wanted = psprintf(types[sql_kind(info)], (size_t)info->key_size);
    const char *given = psprintf(types[kind], key->size);
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("the filter's keys are %s, and this key is %s", wanted, given),
                    errhint("Pass the key as %s.", wanted)));
}

/* --------------------------------------------------------------------------------------- files */

/* Returns the entry of a path. A new path takes the oldest entry that the client's current message
 * does not use, or else the oldest: all rows of a statement must get the same file. */
static struct file *file_of_path(const char *path, TimestampTz now)
{
    static unsigned taken;
    for (unsigned i = 0; i < FILES_KEPT; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    for (unsigned i = 0; i < FILES_KEPT && files[taken % FILES_KEPT].checked == now; i++)
        taken++;
    struct file *file = &files[taken++ % FILES_KEPT];
    file->checked = 0;
    strlcpy(file->path, path, sizeof file->path);
    return file;
}

/* Opens the file of an entry unless it is open and unchanged. */
static int file_refresh(struct file *file)
{
    struct stat status;
    if (file->filter.handle && lstat(file->path, &status) == 0 &&
        sql_same_file(&status, &file->status))
        return 0;
    bloomfile_close(file->filter.handle);
    file->filter.handle = NULL;
    const int fd = BasicOpenFile(file->path, SQL_OPEN_FLAGS);
    return fd >= 0 ? sql_open_fd(&file->filter, fd, &file->status) : errno;
}

static void text_key(struct sql_key *key, Datum value)
{
    const text *string = DatumGetTextPP(value);
    const char *bytes = VARDATA_ANY(string);
    const int size = (int)VARSIZE_ANY_EXHDR(string);
    key->kind = BLOOMFILE_KEYS_TEXT;
    key->data = pg_server_to_any(bytes, size, PG_UTF8);
    key->size = key->data == bytes ? (size_t)size : strlen(key->data);
}

/* Returns the open file of a name, in UTF-8. It checks the path once for each message of the client
 * and each transaction in it, so all rows of a statement get the same file if it names at most
 * FILES_KEPT files. */
static const struct sql_filter *filter_of_name(Datum value)
{
    char path[MAXPGPATH];
    struct sql_key name;
    const TimestampTz now =
        Max(GetCurrentStatementStartTimestamp(), GetCurrentTransactionStartTimestamp());
    text_key(&name, value);
    if (!directory || directory[0] != '/')
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("bloomfile.directory is not set to an absolute path")));
    if (!sql_name_is_safe(name.data, name.size) ||
        snprintf(path, sizeof path, "%s/%.*s", directory, (int)name.size,
                 (const char *)name.data) >= MAXPGPATH)
        ereport(ERROR, (errcode(ERRCODE_INVALID_NAME),
                        errmsg("not the name of a file in bloomfile.directory"),
                        errhint("It is empty, too long, has a slash or begins with a dot.")));
    struct file *file = file_of_path(path, now);
    if (!file->filter.handle || file->checked != now) {
        check(text_to_cstring(DatumGetTextPP(value)), file_refresh(file));
        file->checked = now;
    }
    return &file->filter;
}

/* -------------------------------------------------------------------------------------- images */

/* The last image that one call in a query got, as a verified copy. A bytea on disk is known by its
 * place, other bytes by comparing all of them, because an image can be forged to have the checksums
 * of another. A large image takes longer to compare than to open, so each row opens it in place. */
#define IMAGE_COMPARED (1 << 16)
#define IMAGE_COPIED   (BLOOMFILE_OPEN_COPY | BLOOMFILE_OPEN_VERIFY_FULL)
struct image {
    struct sql_filter copy; /* or of a row's large image in place */
    bool on_disk;           /* it is a copy of the bytea at `place` */
    struct varatt_external place;
    size_t size; /* size of the copied `bytes`; 0: not copied from them */
    char bytes[IMAGE_COMPARED];
    MemoryContextCallback closer;
};

static void image_close(void *pointer)
{
    struct image *image = pointer;
    bloomfile_close(image->copy.handle);
    image->copy.handle = NULL;
    image->on_disk = false;
    image->size = 0;
}

static int image_open(struct image *image, const struct varlena *bytes, unsigned flags)
{
    image_close(image);
    return sql_open_image(&image->copy, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), flags);
}

/* A parameter is none: PL/pgSQL evaluates one call with other values. */
static bool image_is_constant(const FmgrInfo *call)
{
    const FuncExpr *expression = (const FuncExpr *)call->fn_expr;
    return expression && IsA(expression, FuncExpr) && IsA(linitial(expression->args), Const);
}

static int image_find(FmgrInfo *call, struct image *image, const struct varlena *bytes)
{
    const size_t size = VARSIZE_ANY_EXHDR(bytes);
    if (image_is_constant(call))
        return image->copy.handle ? 0 : image_open(image, bytes, IMAGE_COPIED);
    if (size > IMAGE_COMPARED)
        return image_open(image, bytes, 0);
    if (image->copy.handle && size > 0 && image->size == size &&
        memcmp(image->bytes, VARDATA_ANY(bytes), size) == 0)
        return 0;
    const int error = image_open(image, bytes, IMAGE_COPIED);
    image->size = size;
    memcpy(image->bytes, VARDATA_ANY(bytes), size);
    return error;
}

static int image_find_on_disk(struct image *image, struct varlena *value)
{
    struct varatt_external place;
    VARATT_EXTERNAL_GET_POINTER(place, value);
    if (image->copy.handle && image->on_disk && memcmp(&place, &image->place, sizeof place) == 0)
        return 0;
    struct varlena *bytes = detoast_attr(value);
    const int error = image_open(image, bytes, IMAGE_COPIED);
    pfree(bytes);
    image->on_disk = true;
    image->place = place;
    return error;
}

/* Returns the filter in argument 0, a bytea. */
static const struct sql_filter *filter_of_image(FunctionCallInfo fcinfo)
{
    FmgrInfo *call = fcinfo->flinfo;
    struct image *image = call->fn_extra;
    struct varlena *value = (struct varlena *)PG_GETARG_POINTER(0);
    if (!image) {
        call->fn_extra = image = MemoryContextAllocZero(call->fn_mcxt, sizeof *image);
        image->closer = (MemoryContextCallback){ .func = image_close, .arg = image };
        MemoryContextRegisterResetCallback(call->fn_mcxt, &image->closer);
    }
    check(IN_BYTEA, VARATT_IS_EXTERNAL_ONDISK(value)
                        ? image_find_on_disk(image, value)
                        : image_find(call, image, pg_detoast_datum_packed(value)));
    return &image->copy;
}

/* ----------------------------------------------------------------------------------- looking up */

static void bytea_key(struct sql_key *key, Datum value)
{
    const bytea *bytes = DatumGetByteaPP(value);
    key->kind = BLOOMFILE_KEYS_BYTES;
    key->data = VARDATA_ANY(bytes);
    key->size = VARSIZE_ANY_EXHDR(bytes);
}

static void bigint_key(struct sql_key *key, Datum value)
{
    sql_key_integer(key, DatumGetInt64(value));
}

typedef void key_function(struct sql_key *key, Datum value);

/* A NULL filter is an error: as a NULL, WHERE would take it for "no". */
static Datum contains(FunctionCallInfo fcinfo, bool in_file, key_function *key_of)
{
    struct sql_key key;
    bool maybe = true;
    if (PG_ARGISNULL(1))
        PG_RETURN_NULL();
    if (PG_ARGISNULL(0))
        ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("the filter is NULL")));
    key_of(&key, PG_GETARG_DATUM(1));
    const struct sql_filter *f =
        in_file ? filter_of_name(PG_GETARG_DATUM(0)) : filter_of_image(fcinfo);
    const int error = sql_contains(f, &key, &maybe);
    if (error == BLOOMFILE_EKEYKIND)
        raise_kind(&f->info, &key);
    check(in_file ? text_to_cstring(PG_GETARG_TEXT_PP(0)) : IN_BYTEA, error);
    PG_RETURN_BOOL(maybe);
}

#define FUNCTION(name, call)                                                                       \
    PG_FUNCTION_INFO_V1(name);                                                                     \
    Datum name(PG_FUNCTION_ARGS)                                                                   \
    {                                                                                              \
        return call;                                                                               \
    }
FUNCTION(bloom_contains_text, contains(fcinfo, false, text_key))
FUNCTION(bloom_contains_bytea, contains(fcinfo, false, bytea_key))
FUNCTION(bloom_contains_bigint, contains(fcinfo, false, bigint_key))
FUNCTION(bloom_file_contains_text, contains(fcinfo, true, text_key))
FUNCTION(bloom_file_contains_bytea, contains(fcinfo, true, bytea_key))
FUNCTION(bloom_file_contains_bigint, contains(fcinfo, true, bigint_key))

static Datum info(const struct sql_filter *f)
{
    StringInfoData json;
    initStringInfo(&json);
    sql_print_info(&json, f);
    return DirectFunctionCall1(jsonb_in,
                               CStringGetDatum(pg_any_to_server(json.data, json.len, PG_UTF8)));
}

FUNCTION(bloom_info, info(filter_of_image(fcinfo)))
FUNCTION(bloom_file_info, info(filter_of_name(PG_GETARG_DATUM(0))))

/* Stands in for bloom_contains() and bloom_build() if keys have the type character, which the
 * implicit cast to text would change. */
static Datum refuse_character(void)
{
    ereport(ERROR,
            (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("a key of type character(n) is refused"),
             errhint("Cast it to text, which removes its trailing blanks. COPY keeps them.")));
}

FUNCTION(bloom_refuse_character, refuse_character())

/* ------------------------------------------------------------------------------------- building */

/* Returns an option: of the row or, if there was no row, a constant of the call. */
static NullableDatum option(FunctionCallInfo fcinfo, int i)
{
    const Aggref *call = PG_NARGS() == 1 ? AggGetAggref(fcinfo) : NULL;
    if (PG_NARGS() > i)
        return fcinfo->args[i];
    if (call && list_length(call->args) >= i) {
        const TargetEntry *argument = list_nth_node(TargetEntry, call->args, i - 1);
        const Const *given = (Const *)argument->expr;
        if (!argument->resjunk && IsA(given, Const)) /* resjunk: only ORDER BY uses it */
            return (NullableDatum){ given->constvalue, given->constisnull };
    }
    return (NullableDatum){ .isnull = true };
}

static void build_options(struct sql_build *build, FunctionCallInfo fcinfo)
{
    const NullableDatum fpr = option(fcinfo, 2), layout = option(fcinfo, 3);
    build->fpr = fpr.isnull ? 0.01 : DatumGetFloat8(fpr.value);
    build->layout = BLOOMFILE_LAYOUT_BLOCKED;
    if (!layout.isnull) {
        const text *name = DatumGetTextPP(layout.value);
        build->layout = sql_layout(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
    }
    if (!sql_build_is_possible(build))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg(SQL_BAD_OPTIONS)));
}

static void build_close(void *build)
{
    bloomfile_builder_free(((struct sql_build *)build)->builder);
}

/* Returns the filter of the rows before, or begins it. Keys beyond work_mem go to files in the
 * folder of temporary files. */
static struct sql_build *build_of(FunctionCallInfo fcinfo, uint32_t kind)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    char spool[MAXPGPATH];
    MemoryContext context;
    if (!PG_ARGISNULL(0))
        return (struct sql_build *)PG_GETARG_POINTER(0);
    if (!AggCheckCallContext(fcinfo, &context))
        elog(ERROR, "bloom_build() is an aggregate");
    struct sql_build *build = MemoryContextAllocZero(context, sizeof *build);
    MemoryContextCallback *closer = MemoryContextAlloc(context, sizeof *closer);
    build_options(build, fcinfo);
    TempTablespacePath(spool, MyDatabaseTableSpace);
    (void)MakePGDirectory(spool); /* if this fails, so does the first temporary file */
    params.spool = spool;
    params.memory = (uint64_t)work_mem * 1024;
    *closer = (MemoryContextCallback){ .func = build_close, .arg = build };
    MemoryContextRegisterResetCallback(context, closer);
    check("bloom_build", sql_build_start(build, kind, &params));
    return build;
}

static Datum build_step(FunctionCallInfo fcinfo, uint32_t kind, key_function *key_of)
{
    struct sql_build *build = build_of(fcinfo, kind);
    struct sql_key key;
    if (!PG_ARGISNULL(1)) {
        key_of(&key, PG_GETARG_DATUM(1));
        check("bloom_build", sql_build_add(build, &key));
    }
    PG_RETURN_POINTER(build);
}

FUNCTION(bloom_build_text, build_step(fcinfo, BLOOMFILE_KEYS_TEXT, text_key))
FUNCTION(bloom_build_bytea, build_step(fcinfo, BLOOMFILE_KEYS_BYTES, bytea_key))
FUNCTION(bloom_build_bigint, build_step(fcinfo, BLOOMFILE_KEYS_INTEGERS, bigint_key))

/* Ends a long write when the statement is to be cancelled. */
static int cancelled(void *unused pg_attribute_unused())
{
    return QueryCancelPending || ProcDiePending ? ECANCELED : 0;
}

/* Returns the image. A set without keys makes a filter without keys. */
static Datum build_final(FunctionCallInfo fcinfo)
{
    struct sql_build *build = build_of(fcinfo, BLOOMFILE_KEYS_UNKNOWN);
    struct bloomfile_destination to = bloomfile_to_memory();
    bytea *image = NULL;
    bloomfile_stop_with(cancelled, NULL);
    const int error = bloomfile_builder_write(build->builder, &to);
    bloomfile_stop_with(NULL, NULL);
    if (error == ECANCELED)
        CHECK_FOR_INTERRUPTS();
    check("bloom_build", error);
    if (to.size <= MaxAllocSize - VARHDRSZ)
        image = palloc_extended(to.size + VARHDRSZ, MCXT_ALLOC_NO_OOM);
    if (image) {
        SET_VARSIZE(image, to.size + VARHDRSZ);
        memcpy(VARDATA(image), to.memory, to.size);
    }
    bloomfile_free(to.memory);
    if (!image)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                        errmsg("the filter does not fit into a bytea: it has %zu bytes", to.size)));
    PG_RETURN_BYTEA_P(image);
}

FUNCTION(bloom_build_final, build_final(fcinfo))

/* -------------------------------------------------------------------------------------- loading */

void _PG_init(void);
void _PG_init(void)
{
    DefineCustomStringVariable("bloomfile.directory", "The folder of filters that SQL may name.",
                               NULL, &directory, "", PGC_SUSET, GUC_SUPERUSER_ONLY, NULL, NULL,
                               NULL);
#if PG_VERSION_NUM >= 150000
    MarkGUCPrefixReserved("bloomfile");
#endif
}
