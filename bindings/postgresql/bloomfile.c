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
    TimestampTz checked; /* when the statement that looked at the path last began */
    char path[MAXPGPATH];
};

static struct file files[FILES_KEPT];
static char *directory; /* the setting bloomfile.directory */

/* ------------------------------------------------------------------------------------- errors */

/* Raises an error of the library. `subject` names the filter, or is the name of a function. */
static pg_attribute_noreturn() void raise_error(const char *subject, int error)
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
    errno = error;
    ereport(ERROR, (error > 0 ? errcode_for_file_access() : errcode(state),
                    errmsg("%s: %s", subject, bloomfile_strerror(error)),
                    errdetail("The error is %s.", bloomfile_errname(error))));
}

/* Raises the error that a key is of another kind than the filter's, and names the cast. */
static pg_attribute_noreturn() void raise_kind(const struct bloomfile_info *info)
{
    static const char *const types[] = { "", "text", "text", "bigint", "bytea", "bytea" };
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("the filter has keys of the kind \"%s\", and the key is of another kind",
                           sql_kind_name(info)),
                    errhint("Cast the key to %s.", types[sql_kind(info)])));
}

/* --------------------------------------------------------------------------------------- files */

static void file_close(struct file *file)
{
    bloomfile_close(file->filter.handle);
    file->filter.handle = NULL;
}

/* Returns the entry of a path. A new path takes the entry that was taken longest ago. */
static struct file *file_of_path(const char *path)
{
    static unsigned taken;
    for (unsigned i = 0; i < FILES_KEPT; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    struct file *file = &files[taken++ % FILES_KEPT];
    file_close(file);
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
    file_close(file);
    const int fd = BasicOpenFile(file->path, SQL_OPEN_FLAGS);
    return fd >= 0 ? sql_open_fd(&file->filter, fd, &file->status) : errno;
}

/* Returns the open file of a name. It looks at the path once for each statement of the client, so
 * all rows of a statement get the same file. */
static const struct sql_filter *filter_of_name(const text *name)
{
    char path[MAXPGPATH];
    const int size = (int)VARSIZE_ANY_EXHDR(name);
    if (!directory || directory[0] != '/')
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("bloomfile.directory is not set to an absolute path")));
    if (!sql_name_is_safe(VARDATA_ANY(name), (size_t)size) ||
        snprintf(path, sizeof path, "%s/%.*s", directory, size, VARDATA_ANY(name)) >= MAXPGPATH)
        ereport(ERROR, (errcode(ERRCODE_INVALID_NAME),
                        errmsg("not the name of a file in bloomfile.directory"),
                        errhint("It is empty, too long, has a slash or begins with a dot.")));
    struct file *file = file_of_path(path);
    if (!file->filter.handle || file->checked != GetCurrentStatementStartTimestamp()) {
        const int error = file_refresh(file);
        if (error != 0)
            raise_error(strrchr(path, '/') + 1, error);
        file->checked = GetCurrentStatementStartTimestamp();
    }
    return &file->filter;
}

/* -------------------------------------------------------------------------------------- images */

/* The last image that one call in a query got, as a verified copy. A bytea on disk is known by its
 * place, other bytes by comparing all of them, because an image can be forged to have the checksums
 * of another. A large image takes longer to compare than to open, so each row opens it in place. */
enum {
    IMAGE_COMPARED = 1 << 16
};
struct image {
    struct sql_filter copy; /* of `bytes`, or of a row's large image in place */
    bool on_disk;           /* at `place` */
    struct varatt_external place;
    size_t size;  /* of `bytes`; 0: `copy` is not theirs */
    char *memory; /* has `bytes` */
    char *bytes;  /* those of the copy, aligned for its blocks */
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

static struct image *image_of_call(FmgrInfo *call)
{
    struct image *image = call->fn_extra;
    if (!image) {
        image = MemoryContextAllocZero(call->fn_mcxt, sizeof *image);
        image->closer.func = image_close;
        image->closer.arg = image;
        MemoryContextRegisterResetCallback(call->fn_mcxt, &image->closer);
        call->fn_extra = image;
    }
    return image;
}

static int image_copy(FmgrInfo *call, struct image *image, const struct varlena *bytes)
{
    image_close(image);
    if (image->memory)
        pfree(image->memory);
    image->memory = NULL;
    image->size = VARSIZE_ANY_EXHDR(bytes);
    image->memory = MemoryContextAllocHuge(call->fn_mcxt, image->size + 64);
    image->bytes = (char *)TYPEALIGN(64, image->memory);
    memcpy(image->bytes, VARDATA_ANY(bytes), image->size);
    return sql_open_image(&image->copy, image->bytes, image->size, BLOOMFILE_OPEN_VERIFY_FULL);
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
    const bool constant = image_is_constant(call);
    if (!constant && size > IMAGE_COMPARED) {
        image_close(image);
        return sql_open_image(&image->copy, VARDATA_ANY(bytes), size, 0);
    }
    const bool same = image->copy.handle && image->size == size &&
                      (constant || memcmp(image->bytes, VARDATA_ANY(bytes), size) == 0);
    return same ? 0 : image_copy(call, image, bytes);
}

static int image_find_on_disk(FmgrInfo *call, struct image *image, struct varlena *value)
{
    struct varatt_external place;
    VARATT_EXTERNAL_GET_POINTER(place, value);
    if (image->copy.handle && image->on_disk && memcmp(&place, &image->place, sizeof place) == 0)
        return 0;
    struct varlena *bytes = detoast_attr(value);
    const int error = image_copy(call, image, bytes);
    pfree(bytes);
    image->on_disk = error == 0;
    image->place = place;
    return error;
}

/* Returns the filter in argument 0, a bytea. */
static const struct sql_filter *filter_of_image(FunctionCallInfo fcinfo)
{
    FmgrInfo *call = fcinfo->flinfo;
    struct image *image = image_of_call(call);
    struct varlena *value = (struct varlena *)PG_GETARG_POINTER(0);
    const int error = VARATT_IS_EXTERNAL_ONDISK(value)
                          ? image_find_on_disk(call, image, value)
                          : image_find(call, image, pg_detoast_datum_packed(value));
    if (error != 0)
        raise_error(IN_BYTEA, error);
    return &image->copy;
}

/* ----------------------------------------------------------------------------------- looking up */

static void text_key(struct sql_key *key, Datum value)
{
    const text *string = DatumGetTextPP(value);
    const char *bytes = VARDATA_ANY(string);
    const int size = (int)VARSIZE_ANY_EXHDR(string);
    key->kind = BLOOMFILE_KEYS_TEXT;
    key->data = pg_server_to_any(bytes, size, PG_UTF8);
    key->size = key->data == bytes ? (size_t)size : strlen(key->data);
}

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
        in_file ? filter_of_name(PG_GETARG_TEXT_PP(0)) : filter_of_image(fcinfo);
    const int error = sql_contains(f, &key, &maybe);
    if (error == BLOOMFILE_EKEYKIND)
        raise_kind(&f->info);
    if (error != 0)
        raise_error(in_file ? text_to_cstring(PG_GETARG_TEXT_PP(0)) : IN_BYTEA, error);
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
FUNCTION(bloom_file_info, info(filter_of_name(PG_GETARG_TEXT_PP(0))))

/* ------------------------------------------------------------------------------------- building */

struct build {
    struct sql_build build;
    MemoryContextCallback closer;
};

static void build_close(void *pointer)
{
    bloomfile_builder_free(((struct build *)pointer)->build.builder);
}

/* Takes the rate and the layout of the row, if there are such arguments and they are not NULL. */
static void build_options(struct sql_build *build, FunctionCallInfo fcinfo)
{
    if (PG_NARGS() > 2 && !PG_ARGISNULL(2))
        build->fpr = PG_GETARG_FLOAT8(2);
    if (PG_NARGS() > 3 && !PG_ARGISNULL(3)) {
        const text *name = PG_GETARG_TEXT_PP(3);
        build->layout = sql_layout(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
    }
    if (build->layout == 0 || !(build->fpr > 0 && build->fpr < 1))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("the rate is above 0 and below 1, and the layout is blocked, "
                               "classic, counting or ribbon")));
}

/* Begins a filter. Keys beyond work_mem go to files in the folder of temporary files. */
static struct build *build_new(FunctionCallInfo fcinfo, uint32_t kind)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    char spool[MAXPGPATH];
    MemoryContext context;
    if (!AggCheckCallContext(fcinfo, &context))
        elog(ERROR, "bloom_build() is an aggregate");
    struct build *build = MemoryContextAllocZero(context, sizeof *build);
    build->build = (struct sql_build){ .fpr = 0.01, .layout = BLOOMFILE_LAYOUT_BLOCKED };
    build_options(&build->build, fcinfo);
    TempTablespacePath(spool, MyDatabaseTableSpace);
    (void)MakePGDirectory(spool); /* if this fails, so does the first temporary file */
    params.spool = spool;
    params.memory = (uint64_t)work_mem * 1024;
    build->closer.func = build_close;
    build->closer.arg = build;
    MemoryContextRegisterResetCallback(context, &build->closer);
    const int error = sql_build_start(&build->build, kind, &params);
    if (error != 0)
        raise_error("bloom_build", error);
    return build;
}

static Datum build_step(FunctionCallInfo fcinfo, uint32_t kind, key_function *key_of)
{
    struct build *build = PG_ARGISNULL(0) ? NULL : (struct build *)PG_GETARG_POINTER(0);
    struct sql_key key;
    int error = 0;
    if (!build)
        build = build_new(fcinfo, kind);
    if (!PG_ARGISNULL(1)) {
        key_of(&key, PG_GETARG_DATUM(1));
        error = sql_build_add(&build->build, &key);
    }
    if (error != 0)
        raise_error("bloom_build", error);
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
PG_FUNCTION_INFO_V1(bloom_build_final);
Datum bloom_build_final(PG_FUNCTION_ARGS)
{
    struct build *build = PG_ARGISNULL(0) ? build_new(fcinfo, BLOOMFILE_KEYS_UNKNOWN)
                                          : (struct build *)PG_GETARG_POINTER(0);
    struct bloomfile_destination to = bloomfile_to_memory();
    bloomfile_stop_with(cancelled, NULL);
    const int error = bloomfile_builder_write(build->build.builder, &to);
    bloomfile_stop_with(NULL, NULL);
    if (error == ECANCELED)
        CHECK_FOR_INTERRUPTS();
    if (error != 0)
        raise_error("bloom_build", error);
    bytea *image = NULL;
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
