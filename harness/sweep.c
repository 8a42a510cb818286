/* SPDX-License-Identifier: Apache-2.0 */
/* Sweep files: lines of the case language, comments, continuation, include. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/case.h"

/* The chain of files being read; a cycle is a file that is already in it. */
typedef struct sweep_file {
    const struct sweep_file *parent;
    char path[PATH_MAX]; /* resolved */
} sweep_file;

typedef struct {
    const case_tiles *tiles;
    case_list *list;
    case_error *error;
} sweep_reader;

/* A logical line: physical lines joined at trailing backslashes. starts[i] is where physical line
 * first + i begins in text. */
enum { SEGMENTS_MAX = 64 };
typedef struct {
    char *text;
    size_t length, capacity;
    int64_t first;
    size_t starts[SEGMENTS_MAX];
    int32_t segments;
} logical_line;

static bool load_file(sweep_reader *reader, const char *path, const sweep_file *parent,
                      const case_error *where);

/* --- Where sweeps are ------------------------------------------------------------------------- */

/* Looks above the running program, so that both a build tree and an installation are found. */
static bool find_above_program(char path[PATH_MAX]) {
    static const char *const below[] = {"conformance/sweeps", "share/armq/sweeps"};
    char directory[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", directory, sizeof directory - 1);
    if (length <= 0)
        return false;
    directory[length] = '\0';
    for (char *slash; (slash = strrchr(directory, '/')) != NULL;) {
        *slash = '\0';
        for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
            int n = snprintf(path, PATH_MAX, "%s/%s", directory, below[i]);
            if (n < PATH_MAX && access(path, R_OK | X_OK) == 0)
                return true;
        }
    }
    return false;
}

const char *sweep_directory(void) {
    static char built_in[PATH_MAX];
    const char *chosen = getenv("ARMQ_SWEEPS");
    if (chosen && *chosen)
        return chosen;
    if (!built_in[0] && !find_above_program(built_in))
        snprintf(built_in, sizeof built_in, "conformance/sweeps");
    return built_in;
}

static bool is_path(const char *name) {
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 6 && strcmp(name + length - 6, ".sweep") == 0);
}

/* Names: beside the including file, then in the sweep directory. Paths: relative to the including
 * file, or to the working directory for the first. */
static void locate(const char *name, const sweep_file *parent, char path[PATH_MAX]) {
    char beside[PATH_MAX] = ".";
    if (parent) {
        snprintf(beside, sizeof beside, "%s", parent->path);
        *strrchr(beside, '/') = '\0'; /* resolved paths are absolute */
    }
    int n;
    if (is_path(name))
        n = name[0] == '/' || !parent ? snprintf(path, PATH_MAX, "%s", name)
                                      : snprintf(path, PATH_MAX, "%s/%s", beside, name);
    else
        n = snprintf(path, PATH_MAX, "%s/%s.sweep", beside, name);
    if (!is_path(name) && (!parent || access(path, R_OK) != 0))
        n = snprintf(path, PATH_MAX, "%s/%s.sweep", sweep_directory(), name);
    if (n >= PATH_MAX)
        path[0] = '\0';
}

/* --- Errors ----------------------------------------------------------------------------------- */

static void set_place(case_error *error, const char *file, int64_t line, int64_t column) {
    size_t length = strlen(file);
    const char *tail = length < sizeof error->file ? file : file + length - sizeof error->file + 1;
    memcpy(error->file, tail, strlen(tail) + 1);
    error->line = line;
    error->column = column;
}

/* Column of the logical line -> line and column of the file. */
static void place(const logical_line *line, const char *file, case_error *error) {
    size_t offset = (size_t)(error->column - 1);
    int32_t segment = line->segments - 1;
    while (segment > 0 && line->starts[segment] > offset)
        segment--;
    set_place(error, file, line->first + segment, (int64_t)(offset - line->starts[segment]) + 1);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Appends one physical line; false if memory is short or there are too many. */
static bool append_segment(logical_line *line, const char *text, size_t length) {
    if (line->segments == SEGMENTS_MAX)
        return false;
    if (!line->text || line->length + length + 1 > line->capacity) {
        size_t capacity = 2 * (line->length + length + 1);
        char *grown = realloc(line->text, capacity);
        if (!grown)
            return false;
        line->text = grown;
        line->capacity = capacity;
    }
    line->starts[line->segments++] = line->length;
    memcpy(line->text + line->length, text, length);
    line->length += length;
    line->text[line->length] = '\0';
    return true;
}

/* Cuts the comment and the white space before it. */
static size_t content_length(const char *text, size_t length) {
    const char *hash = memchr(text, '#', length);
    length = hash ? (size_t)(hash - text) : length;
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    return length;
}

static bool take_include(sweep_reader *reader, const logical_line *line, const sweep_file *file) {
    const char *name = line->text + strspn(line->text, " \t") + strlen("include");
    name += strspn(name, " \t");
    reader->error->column = name - line->text + 1;
    place(line, file->path, reader->error);
    case_error where = *reader->error;
    if (*name == '\0' || strpbrk(name, " \t")) {
        snprintf(reader->error->message, sizeof reader->error->message,
                 "include takes the name of one sweep, or a path");
        return false;
    }
    char path[PATH_MAX];
    locate(name, file, path);
    return load_file(reader, path, file, &where);
}

static bool take_line(sweep_reader *reader, const logical_line *line, const sweep_file *file) {
    const char *start = line->text + strspn(line->text, " \t");
    if (*start == '\0')
        return true;
    if (strncmp(start, "include", 7) == 0 && (start[7] == '\0' || isspace((unsigned char)start[7])))
        return take_include(reader, line, file);
    if (case_parse_line(line->text, reader->tiles, reader->list, reader->error))
        return true;
    place(line, file->path, reader->error);
    return false;
}

/* One physical line, without its end. */
enum { LINE_BYTES_MAX = 64 << 10 };
typedef struct {
    char text[LINE_BYTES_MAX];
    size_t length;
    int64_t number; /* from 1 */
} physical_line;

/* False at the end of the file, or with why. */
static bool next_physical(FILE *in, physical_line *line, char *why, size_t why_bytes) {
    int c = getc(in);
    if (c == EOF && !ferror(in))
        return false;
    line->length = 0;
    line->number++;
    for (; c != EOF && c != '\n'; c = getc(in)) {
        if (c == '\0') {
            snprintf(why, why_bytes, "a NUL byte; a sweep is a text file");
            return false;
        }
        if (line->length == sizeof line->text) {
            snprintf(why, why_bytes, "a line of more than %d bytes", LINE_BYTES_MAX);
            return false;
        }
        line->text[line->length++] = (char)c;
    }
    if (ferror(in))
        snprintf(why, why_bytes, "cannot read on: %s", strerror(errno));
    return !ferror(in);
}

/* What some editors put in front of UTF-8. */
static void skip_byte_order_mark(physical_line *line) {
    static const char mark[] = "\xef\xbb\xbf";
    size_t bytes = sizeof mark - 1;
    if (line->number != 1 || line->length < bytes || memcmp(line->text, mark, bytes) != 0)
        return;
    line->length -= bytes;
    memmove(line->text, line->text + bytes, line->length);
}

static bool take_physical(sweep_reader *reader, physical_line *physical, logical_line *line,
                          const sweep_file *file) {
    skip_byte_order_mark(physical);
    size_t content = content_length(physical->text, physical->length);
    bool continued = content > 0 && physical->text[content - 1] == '\\';
    if (line->segments == 0)
        line->first = physical->number;
    if (continued)
        physical->text[content - 1] = ' ';
    if (!append_segment(line, physical->text, content)) {
        set_place(reader->error, file->path, physical->number, 1);
        snprintf(reader->error->message, sizeof reader->error->message,
                 "a line may be continued %d times", SEGMENTS_MAX - 1);
        return false;
    }
    if (continued)
        return true;
    bool ok = take_line(reader, line, file);
    line->length = 0;
    line->segments = 0;
    return ok;
}

static bool read_lines(sweep_reader *reader, FILE *in, const sweep_file *file) {
    physical_line *physical = calloc(1, sizeof *physical);
    logical_line line = {.first = 1};
    char why[128] = "";
    bool ok = physical != NULL;
    if (!ok)
        snprintf(why, sizeof why, "out of memory");
    while (ok && next_physical(in, physical, why, sizeof why))
        ok = take_physical(reader, physical, &line, file);
    if (why[0]) {
        set_place(reader->error, file->path, physical ? physical->number : 1,
                  physical ? (int64_t)physical->length + 1 : 1);
        snprintf(reader->error->message, sizeof reader->error->message, "%s", why);
        ok = false;
    }
    if (ok && line.segments > 0)
        ok = take_line(reader, &line, file);
    free(physical);
    free(line.text);
    return ok;
}

/* Regular files only: a directory reads as nothing, and a device may never end. */
static FILE *open_regular(const char *path, char *why, size_t why_bytes) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* or a pipe would be waited for */
    struct stat status;
    FILE *in = NULL;
    if (fd < 0 || fstat(fd, &status) != 0)
        snprintf(why, why_bytes, "%s", strerror(errno));
    else if (!S_ISREG(status.st_mode))
        snprintf(why, why_bytes, "%s; a sweep is a regular file",
                 S_ISDIR(status.st_mode) ? "it is a directory" : "it is a pipe or a device");
    else if (!(in = fdopen(fd, "r")))
        snprintf(why, why_bytes, "%s", strerror(errno));
    if (!in && fd >= 0)
        close(fd);
    return in;
}

/* `where` is the include that asked for the file, for messages. */
static bool load_file(sweep_reader *reader, const char *path, const sweep_file *parent,
                      const case_error *where) {
    char why[128] = "out of memory";
    sweep_file *file = calloc(1, sizeof *file);
    FILE *in = file ? open_regular(path, why, sizeof why) : NULL;
    bool ok = in != NULL;
    if (ok && !realpath(path, file->path)) {
        snprintf(why, sizeof why, "%s", strerror(errno));
        ok = false;
    }
    if (!ok) {
        *reader->error = *where;
        snprintf(reader->error->message, sizeof reader->error->message,
                 "cannot read sweep '%.200s': %s", path, why);
    }
    for (const sweep_file *f = parent; ok && f; f = f->parent)
        if (strcmp(f->path, file->path) == 0) {
            *reader->error = *where;
            snprintf(reader->error->message, sizeof reader->error->message,
                     "'%.200s' includes itself", path);
            ok = false;
        }
    if (ok) {
        file->parent = parent;
        ok = read_lines(reader, in, file);
    }
    if (in)
        fclose(in);
    free(file);
    return ok;
}

/* --- Cases that stand in a sweep twice -------------------------------------------------------- */

typedef struct {
    char *text;
    int64_t index;
} named_case;

static int by_text(const void *a, const void *b) {
    const named_case *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Keeps the first of equal cases from `from` on, in order. */
static bool remove_duplicates(case_list *list, int64_t from) {
    int64_t count = list->count - from;
    named_case *named = calloc((size_t)count + 1, sizeof *named);
    bool *duplicate = calloc((size_t)count + 1, sizeof *duplicate);
    bool ok = named && duplicate;
    for (int64_t i = 0; ok && i < count; i++) {
        char text[CASE_TEXT_MAX];
        named[i] = (named_case){strdup(case_text(&list->items[from + i], text)), i};
        ok = named[i].text != NULL;
    }
    if (ok) {
        qsort(named, (size_t)count, sizeof *named, by_text);
        for (int64_t i = 1; i < count; i++)
            duplicate[named[i].index] = strcmp(named[i].text, named[i - 1].text) == 0;
        int64_t kept = from;
        for (int64_t i = 0; i < count; i++)
            if (!duplicate[i])
                list->items[kept++] = list->items[from + i];
        list->count = kept;
    }
    for (int64_t i = 0; named && i < count; i++)
        free(named[i].text);
    free(named);
    free(duplicate);
    return ok;
}

bool sweep_load(const char *name_or_path, const case_tiles *tiles, case_list *list,
                case_error *error) {
    char path[PATH_MAX];
    locate(name_or_path, NULL, path);
    *error = (case_error){.line = 1, .column = 1};
    snprintf(error->file, sizeof error->file, "%.250s", name_or_path);
    case_error where = *error;
    sweep_reader reader = {tiles, list, error};
    int64_t count = list->count, dropped = list->dropped;
    bool ok = load_file(&reader, path, NULL, &where);
    if (ok && !remove_duplicates(list, count)) {
        *error = where;
        snprintf(error->message, sizeof error->message, "out of memory");
        ok = false;
    }
    if (!ok) {
        list->count = count;
        list->dropped = dropped;
    }
    return ok;
}
