/* SPDX-License-Identifier: MIT
 * JSON documents, parsed by simdjson. Its DOM checks a whole document, but does not keep numbers
 * as written, and refuses numbers that do not fit into 64 bits. In these cases the document is
 * walked again. */
#include <simdjson.h>

#include <charconv>
#include <cstring>
#include <new>

extern "C" {
#include "keys/json.h"
}

using namespace simdjson;

namespace
{

constexpr size_t LONG_LINE = 1 << 20; /* a parser keeps the memory for documents up to this size */

/* The value at the path. */
struct found {
    uint32_t what = FAULT_ABSENT; /* FAULT_NONE: the text */
    std::string_view text;
};

/* ---- The walk over all values, by the tokens that simdjson finds. */

bool skip_digits(const char *&at, const char *end)
{
    const char *start = at;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at > start;
}

constexpr char SPACE[] = " \t\r\n";

std::string_view without_space(std::string_view token)
{
    const size_t first = token.find_first_not_of(SPACE), last = token.find_last_not_of(SPACE);
    return first < token.size() ? token.substr(first, last + 1 - first) : "";
}

/* simdjson's own check refuses numbers with too many digits. */
bool is_number(std::string_view token)
{
    const char *at = token.data(), *end = at + token.size();
    if (at < end && *at == '-')
        at++;
    if (at < end && *at == '0')
        at++;
    else if (!skip_digits(at, end))
        return false;
    if (at < end && *at == '.' && !skip_digits(++at, end))
        return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        if (!skip_digits(at, end))
            return false;
    }
    return at == end;
}

class tree
{
  public:
    explicit tree(const struct json_path *path) : path(path)
    {
    }

    error_code document(ondemand::document &doc)
    {
        ondemand::value root;
        error_code error = doc.get_value().get(root);
        if (error == SUCCESS)
            error = value(root, 0, 1);
        if (error == SUCCESS && !doc.current_location().error())
            error = TAPE_ERROR; /* another value follows */
        return error;
    }

    struct found found;

  private:
    static constexpr size_t ELSEWHERE = SIZE_MAX;
    const struct json_path *path;

    /* `step`: the next step of the path from this value; ELSEWHERE: not on the path. */
    error_code value(ondemand::value v, size_t step, unsigned depth)
    {
        ondemand::json_type type;
        error_code error = v.type().get(type);
        if (error != SUCCESS)
            return error;
        const bool is_wanted = step == path->count;
        const size_t next = is_wanted ? ELSEWHERE : step;
        std::string_view text;
        bool truth = false;
        switch (type) {
        case ondemand::json_type::object:
            if (is_wanted)
                found.what = FAULT_OBJECT;
            return members(v, next, depth);
        case ondemand::json_type::array:
            if (is_wanted)
                found.what = FAULT_ARRAY;
            return elements(v, next, depth);
        case ondemand::json_type::null:
            if (is_wanted)
                found.what = FAULT_NULL;
            error = v.is_null().get(truth);
            return error != SUCCESS || truth ? error : N_ATOM_ERROR;
        case ondemand::json_type::string:
            error = v.get_string().get(text);
            break;
        case ondemand::json_type::number:
            text = without_space(v.raw_json_token());
            error = is_number(text) ? SUCCESS : NUMBER_ERROR;
            break;
        case ondemand::json_type::boolean:
            error = v.get_bool().get(truth);
            text = truth ? "true" : "false";
            break;
        }
        if (is_wanted)
            found = { FAULT_NONE, text };
        return error;
    }

    error_code members(ondemand::value v, size_t step, unsigned depth)
    {
        ondemand::object object;
        error_code error = depth > JSON_DEPTH ? DEPTH_ERROR : v.get_object().get(object);
        if (error != SUCCESS)
            return error;
        for (auto each : object) {
            ondemand::field field;
            std::string_view name;
            error = std::move(each).get(field);
            if (error == SUCCESS)
                error = field.unescaped_key().get(name);
            if (error != SUCCESS)
                return error;
            const bool leads_on =
                step != ELSEWHERE &&
                name == std::string_view(path->steps[step].name, path->steps[step].size);
            if (leads_on)
                found = {}; /* the last member of this name counts */
            error = value(field.value(), leads_on ? step + 1 : ELSEWHERE, depth + 1);
            if (error != SUCCESS)
                return error;
        }
        return SUCCESS;
    }

    error_code elements(ondemand::value v, size_t step, unsigned depth)
    {
        ondemand::array array;
        error_code error = depth > JSON_DEPTH ? DEPTH_ERROR : v.get_array().get(array);
        if (error != SUCCESS)
            return error;
        uint64_t index = 0;
        for (auto each : array) {
            ondemand::value element;
            error = each.get(element);
            if (error != SUCCESS)
                return error;
            const bool leads_on = step != ELSEWHERE && path->steps[step].index == index++;
            error = value(element, leads_on ? step + 1 : ELSEWHERE, depth + 1);
            if (error != SUCCESS)
                return error;
        }
        return SUCCESS;
    }
};

/* ---- The DOM. */

/* Returns false if the path does not exist. */
bool follow(const struct json_path *path, dom::element &at)
{
    for (size_t i = 0; i < path->count; i++) {
        const json_step *step = &path->steps[i];
        const std::string_view name(step->name, step->size);
        dom::object object;
        dom::array array;
        bool found = false;
        if (at.get(object) == SUCCESS) {
            for (const dom::key_value_pair member : object) {
                if (member.key == name) {
                    at = member.value;
                    found = true; /* continue: the last member of this name counts */
                }
            }
        } else if (step->index != JSON_NO_INDEX && at.get(array) == SUCCESS) {
            found = array.at(step->index).get(at) == SUCCESS;
        }
        if (!found)
            return false;
    }
    return true;
}

std::string_view written(std::to_chars_result result, const char *digits)
{
    return { digits, static_cast<size_t>(result.ptr - digits) };
}

/* Returns false if the number must be read as it is written. */
bool take(dom::element at, char *digits, size_t size, struct found &found)
{
    int64_t number = 0;
    uint64_t large = 0;
    found.what = FAULT_NONE;
    switch (at.type()) {
    case dom::element_type::STRING:
        found.text = at.get_string().value_unsafe();
        return true;
    case dom::element_type::INT64:
        number = at.get_int64().value_unsafe();
        found.text = written(std::to_chars(digits, digits + size, number), digits);
        return number != 0; /* or -0 */
    case dom::element_type::UINT64:
        large = at.get_uint64().value_unsafe();
        found.text = written(std::to_chars(digits, digits + size, large), digits);
        return true;
    case dom::element_type::DOUBLE:
        return false;
    case dom::element_type::BOOL:
        found.text = at.get_bool().value_unsafe() ? "true" : "false";
        return true;
    case dom::element_type::NULL_VALUE:
        found.what = FAULT_NULL;
        return true;
    case dom::element_type::OBJECT:
        found.what = FAULT_OBJECT;
        return true;
    case dom::element_type::ARRAY:
        found.what = FAULT_ARRAY;
        return true;
    }
    return false;
}

struct fault fault_of(error_code error)
{
    switch (error) {
    case SUCCESS:
        return { FAULT_NONE, 0 };
    case EMPTY:
        return { FAULT_BLANK, 0 };
    case MEMALLOC:
    case CAPACITY:
        return { FAULT_MEMORY, 0 };
    case UTF8_ERROR:
        return { FAULT_JSON, FAULT_UTF8 };
    case STRING_ERROR:
    case UNESCAPED_CHARS:
    case UNCLOSED_STRING:
        return { FAULT_JSON, FAULT_STRING };
    case NUMBER_ERROR:
        return { FAULT_JSON, FAULT_NUMBER };
    case DEPTH_ERROR:
        return { FAULT_JSON, FAULT_DEPTH };
    default:
        return { FAULT_JSON, FAULT_SYNTAX };
    }
}

} // namespace

struct json_parser {
    dom::parser dom;
    ondemand::parser tokens;
    char digits[32];

    error_code find(const struct json_path *path, const char *line, size_t size, found &found)
    {
        const bool fits =
            size <= dom.capacity() && (size > LONG_LINE || dom.capacity() <= LONG_LINE);
        error_code error =
            fits ? SUCCESS : dom.allocate(size > LONG_LINE ? size : LONG_LINE, JSON_DEPTH + 1);
        dom::element at;
        if (error == SUCCESS)
            error = dom.parse(line, size, false).get(at);
        if (error == SUCCESS && !follow(path, at))
            return SUCCESS;
        if (error == SUCCESS && take(at, digits, sizeof(digits), found))
            return SUCCESS;
        return error == SUCCESS || error == NUMBER_ERROR ? find_written(path, line, size, found)
                                                         : error;
    }

  private:
    error_code find_written(const struct json_path *path, const char *line, size_t size,
                            found &found)
    {
        ondemand::document doc;
        if (is_number(without_space({ line, size })))
            return SUCCESS; /* the document is a number, so the path does not exist */
        error_code error = tokens.iterate(line, size, size + JSON_PADDING).get(doc);
        tree tree(path);
        if (error == SUCCESS)
            error = tree.document(doc);
        found = tree.found;
        return error;
    }
};

struct json_parser *json_parser_new(void)
{
    return new (std::nothrow) json_parser;
}

struct fault json_find(struct json_parser *j, const struct fields *f, const uint8_t *start,
                       const uint8_t *end, uint8_t **room, struct bloomfile_key *key)
{
    static_assert(JSON_PADDING >= SIMDJSON_PADDING, "");
    if (end - start >= 3 && std::memcmp(start, "\xEF\xBB\xBF", 3) == 0)
        start += 3;
    found found;
    const error_code error = j->find(f->json, reinterpret_cast<const char *>(start),
                                     static_cast<size_t>(end - start), found);
    if (error != SUCCESS && !(error == EMPTY && f->blank))
        return fault_of(error);
    if (found.what != FAULT_NONE && f->missing != FIELDS_EMPTY)
        return { FAULT_NO_VALUE, found.what };
    if (!found.text.empty())
        std::memcpy(*room, found.text.data(), found.text.size());
    *key = { *room, found.text.size() };
    *room += found.text.size();
    return { FAULT_NONE, 0 };
}

void json_parser_free(struct json_parser *j)
{
    delete j;
}
