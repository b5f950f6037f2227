/* SPDX-License-Identifier: MIT
 *
 * Loadable extension of SQLite: bloom_contains(), bloom_build(), bloom_info() and bloom_file().
 *
 * Only bloom_file() opens files. It is SQLITE_DIRECTONLY, so views and triggers of a hostile
 * database cannot call it, but its CHECK constraints can. Its result is a pointer, which SQL cannot
 * forge or store. The other functions see their arguments only.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1
#define SQL_OUTPUT                 sqlite3_str
#define SQL_PRINT(to, format, ...) sqlite3_str_appendf(to, format __VA_OPT__(, ) __VA_ARGS__)
#include "../sql/info.h"
#include <limits.h>
#include <stdio.h>

#define POINTER_TYPE "bloomfile"
#define FILES_KEPT   16 /* open files of a connection */

/* An open filter. A folder and values of running statements share it. */
struct shared {
    struct shared *next; /* in the folder */
    int users;
    struct sql_filter filter;
    struct stat status; /* of a file */
    char name[NAME_MAX + 1];
};

/* The folder of a connection, and its open files, the last used first. */
struct folder {
    char *path; /* NULL: opening files is not allowed */
    struct shared *files;
};

/* ------------------------------------------------------------------------------------- errors */

/* Reports an error of the library. `subject` names the filter, or is the name of a function. */
static void report(sqlite3_context *context, const char *subject, int error)
{
    if (error == ENOMEM) {
        sqlite3_result_error_nomem(context);
        return;
    }
    const bool invalid = error == BLOOMFILE_EVALUE;
    char *text =
        sqlite3_mprintf("%s: %s%s%s (%s)", subject, sql_strerror(error), invalid ? ": " : "",
                        invalid ? bloomfile_invalid() : "", bloomfile_errname(error));
    sqlite3_result_error(context, text ? text : subject, -1);
    sqlite3_free(text);
}

/* Reports a key of another kind than the filter's. It names no cast, because a cast of SQLite can
 * silently make another key. */
static void report_kind(sqlite3_context *context, const struct sql_filter *f, sqlite3_value *key)
{
    static const char *const kinds[] = { "",     "text", "text", "integers", "blobs of %u bytes",
                                         "blobs" };
    static const char *const types[] = { "", "an integer", "", "text", "a blob of %d bytes", "" };
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendall(out, "bloom_contains: the filter's keys are ");
    sqlite3_str_appendf(out, kinds[sql_kind(&f->info)], f->info.key_size);
    sqlite3_str_appendall(out, ", and this key is ");
    sqlite3_str_appendf(out, types[sqlite3_value_type(key)], sqlite3_value_bytes(key));
    sqlite3_str_appendall(out, " (BLOOMFILE_EKEYKIND)");
    char *text = sqlite3_str_finish(out);
    sqlite3_result_error(context, text ? text : "bloom_contains", -1);
    sqlite3_free(text);
}

/* --------------------------------------------------------------------------------------- files */

static void shared_release(void *pointer)
{
    struct shared *shared = pointer;
    if (--shared->users > 0)
        return;
    bloomfile_close(shared->filter.handle);
    sqlite3_free(shared);
}

static struct shared *shared_use(struct shared *shared)
{
    shared->users++;
    return shared;
}

/* Removes the file at *at from the folder. Statements that use it keep it open. */
static void folder_drop(struct shared **at)
{
    struct shared *file = *at;
    *at = file->next;
    shared_release(file);
}

static void folder_free(void *pointer)
{
    struct folder *folder = pointer;
    while (folder->files)
        folder_drop(&folder->files);
    sqlite3_free(folder->path);
    sqlite3_free(folder);
}

/* Opens a file and puts it first, where only the newest FILES_KEPT stay. */
static int folder_open(struct folder *folder, const char *name, const char *path)
{
    struct shared *file = sqlite3_malloc(sizeof *file);
    if (!file)
        return ENOMEM;
    const int fd = open(path, SQL_OPEN_FLAGS);
    const int error = fd >= 0 ? sql_open_fd(&file->filter, fd, &file->status) : errno;
    if (error != 0) {
        sqlite3_free(file);
        return error;
    }
    snprintf(file->name, sizeof file->name, "%s", name);
    file->users = 1;
    file->next = folder->files;
    folder->files = file;
    struct shared **last = &folder->files;
    for (int i = 0; *last && i < FILES_KEPT; i++)
        last = &(*last)->next;
    if (*last)
        folder_drop(last);
    return 0;
}

/* Finds the file of a name, and opens it if it is not open or was replaced. */
static int folder_find(struct folder *folder, const char *name, struct shared **out)
{
    char path[PATH_MAX];
    struct stat status;
    struct shared **at = &folder->files;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder->path, name) >= sizeof path)
        return ENAMETOOLONG;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    if (*at && (lstat(path, &status) != 0 || !sql_same_file(&status, &(*at)->status)))
        folder_drop(at);
    else if (*at) {
        *out = *at;
        return 0;
    }
    const int error = folder_open(folder, name, path);
    *out = folder->files;
    return error;
}

/* Returns the file that a name means to bloom_file(); NULL after it reported an error. */
static struct shared *file_of_name(sqlite3_context *context, sqlite3_value *value)
{
    struct folder *folder = sqlite3_user_data(context);
    struct shared *file = NULL;
    const char *name = (const char *)sqlite3_value_text(value);
    if (!folder->path) {
        sqlite3_result_error(context,
                             "bloom_file: no folder of filters: set the environment variable "
                             "BLOOMFILE_DIRECTORY before the extension is loaded",
                             -1);
        return NULL;
    }
    if (!name || !sql_name_is_safe(name, (size_t)sqlite3_value_bytes(value)) ||
        strlen(name) > NAME_MAX) {
        sqlite3_result_error(context,
                             "bloom_file: not the name of a file in the folder of filters: "
                             "it is empty, has a slash or begins with a dot",
                             -1);
        return NULL;
    }
    const int error = folder_find(folder, name, &file);
    if (error != 0)
        report(context, name, error);
    return error == 0 ? file : NULL;
}

/* bloom_file(name). A call with a constant name looks up the path once in each run of a statement,
 * so all its rows get the same file. */
static void bloom_file(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL)
        return;
    struct shared *file = sqlite3_get_auxdata(context, 0);
    const bool kept = file != NULL;
    if (!kept && !(file = file_of_name(context, values[0])))
        return;
    sqlite3_result_pointer(context, shared_use(file), POINTER_TYPE, shared_release);
    if (!kept)
        sqlite3_set_auxdata(context, 0, shared_use(file), shared_release);
}

/* ------------------------------------------------------------------------------------- filters */

/* Opens an image in place, or with a flag that copies it. Returns NULL after it reported an error.
 */
static struct shared *image_open(sqlite3_context *context, sqlite3_value *value, unsigned flags)
{
    struct shared *image = sqlite3_malloc(sizeof *image);
    int error = ENOMEM;
    if (image) {
        image->users = 1;
        error = sql_open_image(&image->filter, sqlite3_value_blob(value),
                               (size_t)sqlite3_value_bytes(value), flags);
    }
    if (error == 0)
        return image;
    sqlite3_free(image);
    report(context, "the filter in the blob", error);
    return NULL;
}

/* Returns the filter of argument 0, a pointer of bloom_file() or an image, for one row. The caller
 * releases it. Returns NULL after it reported an error.
 *
 * An image is opened in place, for this row. If SQLite keeps the auxiliary data up to the next row,
 * the image is constant, and that row copies it for all later rows of the statement. */
static struct shared *filter_of(sqlite3_context *context, sqlite3_value *value)
{
    static char seen;
    struct shared *file = sqlite3_value_pointer(value, POINTER_TYPE);
    void *kept = sqlite3_get_auxdata(context, 0);
    if (file || (kept && kept != &seen))
        return shared_use(file ? file : kept);
    if (sqlite3_value_type(value) != SQLITE_BLOB) {
        sqlite3_result_error(context, "not a filter or NULL: pass a blob or bloom_file(name)", -1);
        return NULL;
    }
    struct shared *image = image_open(context, value, kept ? BLOOMFILE_OPEN_COPY : 0);
    if (image && kept)
        sqlite3_set_auxdata(context, 0, shared_use(image), shared_release);
    else if (image)
        sqlite3_set_auxdata(context, 0, &seen, NULL);
    return image;
}

/* Makes *key of a value. Its kind is unknown if the value is NULL or a real number. */
static void key_of(struct sql_key *key, sqlite3_value *value)
{
    const int type = sqlite3_value_type(value);
    key->kind = BLOOMFILE_KEYS_UNKNOWN;
    if (type == SQLITE_INTEGER)
        sql_key_integer(key, sqlite3_value_int64(value));
    if (type != SQLITE_TEXT && type != SQLITE_BLOB)
        return;
    key->kind = type == SQLITE_TEXT ? BLOOMFILE_KEYS_TEXT : BLOOMFILE_KEYS_BYTES;
    key->data = type == SQLITE_TEXT ? sqlite3_value_text(value) : sqlite3_value_blob(value);
    key->size = (size_t)sqlite3_value_bytes(value);
}

static void report_real(sqlite3_context *context)
{
    sqlite3_result_error(context,
                         "keys are text, blobs or integers, and this key is a real number "
                         "(BLOOMFILE_EKEYKIND)",
                         -1);
}

/* bloom_contains(filter, key) */
static void bloom_contains(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    struct sql_key key;
    bool maybe = true;
    key_of(&key, values[1]);
    if (sqlite3_value_type(values[1]) == SQLITE_NULL)
        return;
    if (key.kind == BLOOMFILE_KEYS_UNKNOWN) {
        report_real(context);
        return;
    }
    struct shared *shared = filter_of(context, values[0]);
    if (!shared)
        return;
    const int error = sql_contains(&shared->filter, &key, &maybe);
    if (error == BLOOMFILE_EKEYKIND)
        report_kind(context, &shared->filter, values[1]);
    else if (error != 0)
        report(context, "bloom_contains", error);
    else
        sqlite3_result_int(context, maybe);
    shared_release(shared);
}

/* bloom_info(filter) */
static void bloom_info(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL &&
        !sqlite3_value_pointer(values[0], POINTER_TYPE))
        return;
    struct shared *shared = filter_of(context, values[0]);
    if (!shared)
        return;
    sqlite3_str *text = sqlite3_str_new(sqlite3_context_db_handle(context));
    sql_print_info(text, &shared->filter);
    shared_release(shared);
    sqlite3_result_text(context, sqlite3_str_finish(text), -1, sqlite3_free);
}

/* ------------------------------------------------------------------------------------ building */

/* Returns the rate, or 0 if the value is not a number. */
static double rate_of(sqlite3_value *value)
{
    const int type = sqlite3_value_numeric_type(value);
    if (type == SQLITE_NULL)
        return 0.01;
    return type == SQLITE_TEXT || type == SQLITE_BLOB ? 0 : sqlite3_value_double(value);
}

/* Takes the rate and the layout of the first row, where NULL is the default. Returns false after it
 * reported an error. */
static bool build_options(sqlite3_context *context, struct sql_build *build, int count,
                          sqlite3_value **values)
{
    const char *name = count > 2 ? (const char *)sqlite3_value_text(values[2]) : NULL;
    build->fpr = count > 1 ? rate_of(values[1]) : 0.01;
    build->layout =
        name ? sql_layout(name, (size_t)sqlite3_value_bytes(values[2])) : BLOOMFILE_LAYOUT_BLOCKED;
    if (!sql_build_is_possible(build))
        sqlite3_result_error(context, "bloom_build: " SQL_BAD_OPTIONS, -1);
    return sql_build_is_possible(build);
}

static void build_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct sql_build *build = sqlite3_aggregate_context(context, sizeof *build);
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    struct sql_key key;
    int error = build ? 0 : ENOMEM;
    if (build && build->layout == 0 && !build_options(context, build, count, values))
        return;
    key_of(&key, values[0]);
    if (sqlite3_value_type(values[0]) == SQLITE_NULL)
        return;
    if (key.kind == BLOOMFILE_KEYS_UNKNOWN) {
        report_real(context);
        return;
    }
    if (build && !build->builder)
        error = sql_build_start(build, key.kind, &params);
    if (error == 0)
        error = sql_build_add(build, &key);
    if (error != 0)
        report(context, "bloom_build", error);
}

/* Returns the image. A set without keys makes a filter without keys. If there was no row, SQLite
 * does not pass the options to any function. */
static void build_final(sqlite3_context *context)
{
    struct sql_build none = { 0 };
    struct sql_build *build = sqlite3_aggregate_context(context, 0);
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    struct bloomfile_destination to = bloomfile_to_memory();
    if (!build)
        build = &none;
    int error = build->builder ? 0 : sql_build_start(build, BLOOMFILE_KEYS_UNKNOWN, &params);
    if (error == 0)
        error = bloomfile_builder_write(build->builder, &to);
    bloomfile_builder_free(build->builder);
    if (error == 0)
        sqlite3_result_blob64(context, to.memory, to.size, bloomfile_free);
    else
        report(context, "bloom_build", error);
}

/* ------------------------------------------------------------------------------------- loading */

static const int pure = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;

static int register_build(sqlite3 *db)
{
    int status = SQLITE_OK;
    for (int count = 1; status == SQLITE_OK && count <= 3; count++)
        status = sqlite3_create_function(db, "bloom_build", count, pure, NULL, NULL, build_step,
                                         build_final);
    return status;
}

/* The answer to a name changes when the file is replaced, so bloom_file() is not deterministic. */
static int register_file(sqlite3 *db)
{
    const char *path = secure_getenv("BLOOMFILE_DIRECTORY");
    struct folder *folder = sqlite3_malloc(sizeof *folder);
    if (!folder)
        return SQLITE_NOMEM;
    folder->files = NULL;
    folder->path = path && path[0] == '/' ? sqlite3_mprintf("%s", path) : NULL;
    return sqlite3_create_function_v2(db, "bloom_file", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, folder,
                                      bloom_file, NULL, NULL, folder_free);
}

/* SQLite makes the name of the entry point from the name of the file. */
__attribute__((visibility("default"))) int sqlite3_bloomfile_init(sqlite3 *db, char **message,
                                                                  const sqlite3_api_routines *api)
{
    (void)message;
    SQLITE_EXTENSION_INIT2(api)
    int status =
        sqlite3_create_function(db, "bloom_contains", 2, pure, NULL, bloom_contains, NULL, NULL);
    if (status == SQLITE_OK)
        status = sqlite3_create_function(db, "bloom_info", 1, pure, NULL, bloom_info, NULL, NULL);
    if (status == SQLITE_OK)
        status = register_build(db);
    if (status == SQLITE_OK)
        status = register_file(db);
    return status;
}
