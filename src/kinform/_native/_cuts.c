/* Streams of servers in; what they are usually made of out.

   Nothing here has to understand everything. Each function goes as far as what it finds is what
   servers write nearly always, says how far that was, and leaves the rest to Python, which knows
   all of it and has the words for what is wrong. Classes come as arguments: this room imports
   nothing.

   Why C: an event comes every few milliseconds, and by then interpreted code has left the
   processor's caches. Done here, the same steps save a tenth of an event's CPU, and a fifth of a
   sync's (docs/decisions/0018-what-is-usual-is-cut-by-compiled-code.md). */

#include "_wire.h"

#include <time.h>

/* -- arguments --------------------------------------------------------------------------------- */

static int check_count(const char *name, Py_ssize_t given, Py_ssize_t wanted)
{
    if (given == wanted)
        return 1;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", name, wanted, given);
    return 0;
}

/* -- the chunks of a body ---------------------------------------------------------------------- */

static int hex_digit(unsigned char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    if (letter >= 'a' && letter <= 'f')
        return letter - 'a' + 10;
    if (letter >= 'A' && letter <= 'F')
        return letter - 'A' + 10;
    return -1;
}

/* Read the end of one chunk and the size of the next. How many bytes that were; 0 if it is not all
   there, is the last one, or says more than a size. */
static Py_ssize_t read_chunk_size(Bytes at, Bytes end, Py_ssize_t *size)
{
    Bytes digits = at + 2;
    Py_ssize_t value = 0;
    if (end - at < 5 || at[0] != '\r' || at[1] != '\n')
        return 0;
    for (at = digits; at < end && at - digits < 7; at++) {
        int digit = hex_digit(*at);
        if (digit < 0)
            break;
        value = value * 16 + digit;
    }
    if (at == digits || value == 0 || end - at < 2 || at[0] != '\r' || at[1] != '\n')
        return 0;
    *size = value;
    return at + 2 - (digits - 2);
}

/* Go from chunk to chunk, and copy them if there is where to. */
static Py_ssize_t walk_chunks(Bytes *from, Bytes end, Py_ssize_t *left, char *to)
{
    Bytes at = *from;
    Py_ssize_t total = 0, rest = *left;
    while (at < end) {
        if (rest == 0) {
            Py_ssize_t used = read_chunk_size(at, end, &rest);
            if (used == 0)
                break;
            at += used;
            continue;
        }
        Py_ssize_t size = rest < end - at ? rest : end - at;
        if (to != NULL)
            memcpy(to + total, at, (size_t)size);
        total += size;
        at += size;
        rest -= size;
    }
    *from = at;
    *left = rest;
    return total;
}

/* Whether the bytes are how the size of a next chunk begins, as far as they go. */
static int is_beginning_of_size(Bytes at, Bytes end)
{
    Py_ssize_t digits = 0;
    if (end - at > 11 || *at++ != '\r' || (at < end && *at++ != '\n'))
        return 0;
    for (; at < end && hex_digit(*at) >= 0; at++)
        digits++;
    return digits <= 7 && (at == end || (digits > 0 && *at == '\r' && at + 1 == end));
}

PyDoc_STRVAR(unchunked_doc,
"unchunked(data: bytearray, start: int, end: int, left: int) -> tuple[bytes, int, int, bool]\n\n"
"What data[start:end] has of a body, how far it was read, what is left of the last chunk, and\n"
"whether nothing can be done before more has come.");

static PyObject *unchunked(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Py_ssize_t start, end, left;
    if (!check_count("unchunked", count, 4))
        return NULL;
    if (!PyByteArray_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "unchunked reads a bytearray");
        return NULL;
    }
    if (!read_position(args[2], PyByteArray_GET_SIZE(args[0]), &end) ||
        !read_position(args[1], end, &start) || !read_position(args[3], PY_SSIZE_T_MAX, &left))
        return NULL;
    Bytes data = (Bytes)PyByteArray_AS_STRING(args[0]);
    Bytes at = data + start;
    Py_ssize_t rest = left;
    PyObject *body = PyBytes_FromStringAndSize(NULL, walk_chunks(&at, data + end, &rest, NULL));
    if (body == NULL)
        return NULL;
    at = data + start;
    walk_chunks(&at, data + end, &left, PyBytes_AS_STRING(body));
    int is_all = at == data + end || (left == 0 && is_beginning_of_size(at, data + end));
    return Py_BuildValue("(NnnO)", body, (Py_ssize_t)(at - data), left, is_all ? Py_True : Py_False);
}

/* -- the head of a protobuf message ------------------------------------------------------------ */

/* Behind one field of any kind but metadata, and but a group; NULL if it is none. */
static Bytes skip_part(Bytes at, Bytes end)
{
    uint64_t tag, number;
    Py_ssize_t size;
    at = read_short(at, end, &tag);
    if (at == NULL || tag >> 3 <= 1)
        return NULL;
    switch (tag & 7) {
    case 0:
        return read_number(at, end, &number);
    case 1:
        return end - at >= 8 ? at + 8 : NULL;
    case 2:
        at = read_size(at, end, &size);
        return at == NULL ? NULL : at + size;
    case 5:
        return end - at >= 4 ? at + 4 : NULL;
    default:
        return NULL;
    }
}

static PyObject *text_of(Bytes at, Py_ssize_t size, int is_shared)
{
    PyObject *text = PyUnicode_DecodeUTF8((const char *)at, size, NULL);
    if (text != NULL && is_shared)
        PyUnicode_InternInPlace(&text);
    return text;
}

/* What objects that came together have in common, so that it is there once: what a workload makes
   has one owner, and most of its labels are the same. */
#define SHARED_TEXTS 64
#define LONGEST_SHARED 63 /* of a label's value */

struct Shared {
    PyObject *texts[SHARED_TEXTS];
    Bytes owner; /* in the chunk */
    Py_ssize_t owner_size;
    PyObject *owners; /* what was made of it */
};

static void forget_shared(struct Shared *shared)
{
    for (int slot = 0; slot < SHARED_TEXTS; slot++)
        Py_CLEAR(shared->texts[slot]);
    Py_CLEAR(shared->owners);
}

/* Whether it is this text, which is all ASCII. */
static int is_text(PyObject *text, Bytes at, Py_ssize_t size)
{
    return PyUnicode_IS_COMPACT_ASCII(text) && PyUnicode_GET_LENGTH(text) == size &&
           memcmp(PyUnicode_1BYTE_DATA(text), at, (size_t)size) == 0;
}

/* The same text for all who say it, as long as no other one falls into its place. NULL with an
   error. */
static PyObject *shared_text(struct Shared *shared, Bytes at, Py_ssize_t size)
{
    uint32_t hash = 2166136261u;
    if (shared == NULL || size > LONGEST_SHARED)
        return text_of(at, size, 0);
    for (Py_ssize_t index = 0; index < size; index++)
        hash = (hash ^ at[index]) * 16777619u;
    PyObject **slot = &shared->texts[hash % SHARED_TEXTS];
    if (*slot != NULL && is_text(*slot, at, size))
        return Py_NewRef(*slot);
    PyObject *text = text_of(at, size, 0);
    Py_XINCREF(text);
    Py_XSETREF(*slot, text);
    return text;
}

/* Put a label behind those that are there, in the order of their names. 0 if it is not usual, or
   with an error. */
static int add_label(PyObject **labels, PyObject **last, struct Shared *shared, Bytes at,
                     Py_ssize_t size)
{
    Bytes end = at + size, value;
    Py_ssize_t key_size;
    int is_added = 0;
    if (size < 4 || *at != 0x0A || (at = read_size(at + 1, end, &key_size)) == NULL)
        return 0;
    value = read_last(at + key_size, end, 0x12);
    if (value == NULL || (*labels == NULL && (*labels = PyDict_New()) == NULL))
        return 0;
    PyObject *name = text_of(at, key_size, 1);
    PyObject *text = name == NULL ? NULL : shared_text(shared, value, end - value);
    if (text != NULL && (*last == NULL || PyUnicode_Compare(*last, name) < 0))
        is_added = PyDict_SetItem(*labels, name, text) == 0;
    if (is_added)
        *last = name; /* the dict keeps it */
    Py_XDECREF(name);
    Py_XDECREF(text);
    return is_added;
}

/* Where the owners are. Hardly anybody has as many: more are left to Python. */
#define MOST_OWNERS 8

struct Owners {
    int count;
    Bytes at[MOST_OWNERS];
    Py_ssize_t sizes[MOST_OWNERS];
};

static int add_owner(struct Owners *owners, Bytes at, Py_ssize_t size)
{
    if (owners->count == MOST_OWNERS)
        return 0;
    owners->at[owners->count] = at;
    owners->sizes[owners->count++] = size;
    return 1;
}

/* What owners_of() makes of them; NULL with an error. */
static PyObject *made_owners(struct Owners *owners, PyObject *owners_of)
{
    PyObject *references = PyTuple_New(owners->count), *made = NULL;
    if (references == NULL)
        return NULL;
    for (int index = 0; index < owners->count; index++) {
        PyObject *bytes =
            PyBytes_FromStringAndSize((const char *)owners->at[index], owners->sizes[index]);
        if (bytes == NULL)
            goto end;
        PyTuple_SET_ITEM(references, index, bytes);
    }
    made = PyObject_CallObject(owners_of, references);
end:
    Py_DECREF(references);
    return made;
}

/* The same, or what was made for the last object if that had the same one. */
static PyObject *shared_owners(struct Shared *shared, struct Owners *owners, PyObject *owners_of)
{
    if (shared == NULL || owners->count != 1)
        return made_owners(owners, owners_of);
    if (shared->owners != NULL && shared->owner_size == owners->sizes[0] &&
        memcmp(shared->owner, owners->at[0], (size_t)shared->owner_size) == 0)
        return Py_NewRef(shared->owners);
    PyObject *made = made_owners(owners, owners_of);
    Py_XINCREF(made);
    Py_XSETREF(shared->owners, made);
    shared->owner = owners->at[0];
    shared->owner_size = owners->sizes[0];
    return made;
}

#ifdef _WIN32
#define IN_UTC(seconds, parts) (gmtime_s(parts, seconds) == 0)
#else
#define IN_UTC(seconds, parts) (gmtime_r(seconds, parts) != NULL)
#endif
#define YEAR_10000 253402300800u

/* The time in a message, as JSON has it. NULL if it is not usual, or with an error. */
static PyObject *moment_of(Bytes at, Bytes end)
{
    uint64_t seconds;
    struct tm parts;
    char text[sizeof "2006-01-02T15:04:05Z"];
    if (!read_seconds(at, end, &seconds) || seconds >= YEAR_10000)
        return NULL;
    time_t moment = (time_t)seconds;
    if ((uint64_t)moment != seconds || !IN_UTC(&moment, &parts) ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) != sizeof text - 1)
        return NULL;
    return PyUnicode_FromString(text);
}

enum { NAME, NAMESPACE, UID, VERSION, TEXTS };

struct Metadata {
    PyObject *texts[TEXTS];
    PyObject *deleted_at;
    uint64_t generation;
    PyObject *labels;
    PyObject *last_label; /* borrowed from the labels */
    struct Owners owners;
    struct Shared *shared; /* or NULL */
};

/* 0 if it is not usual, or with an error. */
static int read_metadata(struct Metadata *metadata, Bytes at, Bytes end)
{
    while (at < end) {
        unsigned char tag = *at++;
        Py_ssize_t size;
        int text = -1;
        if (tag == 0x38) {
            at = read_number(at, end, &metadata->generation);
            if (at == NULL || metadata->generation > INT32_MAX)
                return 0;
            continue;
        }
        if (tag == 0x50) { /* deletionGracePeriodSeconds */
            uint64_t period;
            at = read_number(at, end, &period);
            if (at == NULL)
                return 0;
            continue;
        }
        if (tag == 0x8A) { /* managedFields, which has two bytes */
            if (at == end || *at++ != 0x01)
                return 0;
        }
        at = read_size(at, end, &size);
        if (at == NULL)
            return 0;
        switch (tag) {
        case 0x0A: text = NAME; break;
        case 0x1A: text = NAMESPACE; break;
        case 0x2A: text = UID; break;
        case 0x32: text = VERSION; break;
        case 0x5A:
            if (!add_label(&metadata->labels, &metadata->last_label, metadata->shared, at, size))
                return 0;
            break;
        case 0x4A:
            if (metadata->deleted_at != NULL ||
                (metadata->deleted_at = moment_of(at, at + size)) == NULL)
                return 0;
            break;
        case 0x6A:
            if (!add_owner(&metadata->owners, at, size))
                return 0;
            break;
        case 0x12: /* generateName */
        case 0x22: /* selfLink */
        case 0x42: /* creationTimestamp */
        case 0x62: /* annotations */
        case 0x72: /* finalizers */
        case 0x8A:
            break;
        default:
            return 0;
        }
        if (text >= 0) {
            if (metadata->texts[text] != NULL)
                return 0;
            metadata->texts[text] = text_of(at, size, text == NAMESPACE);
            if (metadata->texts[text] == NULL)
                return 0;
        }
        at += size;
    }
    return 1;
}

/* One of the class, or NULL with an error. */
static PyObject *make_head(struct Metadata *metadata, PyObject *head_class, PyObject *owners_of)
{
    PyObject *head = NULL, *owners = NULL, *empty = PyUnicode_New(0, 0);
    PyObject *generation = PyLong_FromUnsignedLongLong(metadata->generation);
    if (empty == NULL || generation == NULL)
        goto end;
    if (metadata->owners.count > 0) {
        owners = shared_owners(metadata->shared, &metadata->owners, owners_of);
        if (owners == NULL)
            goto end;
    }
    PyObject *fields[TEXTS + 4];
    for (int text = 0; text < TEXTS; text++)
        fields[text] = metadata->texts[text] == NULL ? empty : metadata->texts[text];
    fields[TEXTS] = generation;
    fields[TEXTS + 1] = metadata->deleted_at == NULL ? Py_None : metadata->deleted_at;
    fields[TEXTS + 2] = metadata->labels == NULL ? Py_None : metadata->labels;
    fields[TEXTS + 3] = owners == NULL ? Py_None : owners;
    head = PyObject_Vectorcall(head_class, fields, TEXTS + 4, NULL);
end:
    Py_XDECREF(empty);
    Py_XDECREF(generation);
    Py_XDECREF(owners);
    return head;
}

/* The head of a message; NULL if it is not usual, or with an error. */
static PyObject *head_of(Bytes at, Bytes end, PyObject *head_class, PyObject *owners_of,
                         struct Shared *shared)
{
    struct Metadata metadata = {.shared = shared};
    PyObject *head = NULL;
    Py_ssize_t size;
    if (at == end || *at != 0x0A || (at = read_size(at + 1, end, &size)) == NULL)
        return NULL;
    /* Whatever follows has to end where it says; nobody looks into it. */
    for (Bytes part = at + size; part < end;) {
        part = skip_part(part, end);
        if (part == NULL)
            return NULL;
    }
    if (read_metadata(&metadata, at, at + size))
        head = make_head(&metadata, head_class, owners_of);
    for (int text = 0; text < TEXTS; text++)
        Py_XDECREF(metadata.texts[text]);
    Py_XDECREF(metadata.deleted_at);
    Py_XDECREF(metadata.labels);
    return head;
}

PyDoc_STRVAR(usual_head_doc,
"usual_head(payload: bytes, head_class, owners_of) -> head | None\n\n"
"The head of an object's message; None if it is not as most of them are.");

static PyObject *usual_head(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!check_count("usual_head", count, 3) || !check_bytes(args[0]))
        return NULL;
    Bytes payload = (Bytes)PyBytes_AS_STRING(args[0]);
    PyObject *head = head_of(payload, payload + PyBytes_GET_SIZE(args[0]), args[1], args[2], NULL);
    if (head == NULL && is_forgotten())
        Py_RETURN_NONE;
    return head;
}

/* -- events ------------------------------------------------------------------------------------ */

/* What events are made of: (record class, frame class, types). */
struct Shapes {
    PyObject *record_class, *frame_class, *types;
};

static int read_shapes(PyObject *given, struct Shapes *shapes)
{
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "the shapes are a tuple");
        return 0;
    }
    return PyArg_ParseTuple(given, "OOO!", &shapes->record_class, &shapes->frame_class,
                            &PyTuple_Type, &shapes->types);
}

/* The type that stands at the place, borrowed, and its length; NULL for none. */
static PyObject *type_at(PyObject *types, Bytes at, Bytes end, Py_ssize_t *size)
{
    for (Py_ssize_t each = 0; each < PyTuple_GET_SIZE(types); each++) {
        PyObject *type = PyTuple_GET_ITEM(types, each);
        const char *name = PyUnicode_AsUTF8AndSize(type, size);
        if (name == NULL)
            return NULL;
        if (*size <= end - at && memcmp(at, name, (size_t)*size) == 0)
            return type;
    }
    return NULL;
}

/* Make a frame of a record of these, and put it behind the others. It takes payload and head. */
static int add_frame(PyObject *frames, struct Shapes *shapes, PyObject *type, PyObject *payload,
                     PyObject *head, PyObject *gvk, PyObject *codec)
{
    int is_added = 0;
    PyObject *record = NULL, *frame = NULL;
    if (payload != NULL && head != NULL) {
        PyObject *fields[] = {payload, head, gvk, codec};
        record = PyObject_Vectorcall(shapes->record_class, fields, 4, NULL);
    }
    if (record != NULL) {
        PyObject *fields[] = {type, record};
        frame = PyObject_Vectorcall(shapes->frame_class, fields, 2, NULL);
    }
    if (frame != NULL)
        is_added = PyList_Append(frames, frame) == 0;
    Py_XDECREF(payload);
    Py_XDECREF(head);
    Py_XDECREF(record);
    Py_XDECREF(frame);
    return is_added;
}

/* The frames and how far they reach; NULL if an error is to be passed on. It takes the frames. */
static PyObject *frames_until(PyObject *frames, Py_ssize_t at)
{
    if (!is_forgotten()) {
        Py_DECREF(frames);
        return NULL;
    }
    return Py_BuildValue("(Nn)", frames, at);
}

/* Go into an event as far as its object. NULL if it is not usual, or with an error. */
static Bytes object_in(Bytes at, Bytes end, PyObject *type_meta, struct Shapes *shapes,
                       PyObject **type)
{
    static const unsigned char magic[] = {'k', '8', 's', 0, 0x0A};
    /* Encoding and content type, which Go writes even if they are empty. */
    static const unsigned char ending[] = {0x1A, 0, 0x22, 0};
    Py_ssize_t size, type_size;
    if (end - at < 3 || *at != 0x0A || (at = read_size(at + 1, end, &size)) == NULL)
        return NULL;
    *type = type_at(shapes->types, at, at + size, &type_size);
    if (*type == NULL || type_size != size)
        return NULL;
    at = read_last(read_last(at + size, end, 0x12), end, 0x0A);
    if (at == NULL || end - at < (Py_ssize_t)(sizeof magic + sizeof ending) ||
        memcmp(at, magic, sizeof magic) != 0 || memcmp(end - sizeof ending, ending, sizeof ending))
        return NULL;
    at = read_size(at + sizeof magic, end, &size);
    if (at == NULL || size != PyBytes_GET_SIZE(type_meta) ||
        memcmp(at, PyBytes_AS_STRING(type_meta), (size_t)size) != 0)
        return NULL;
    if (end - at - size < (Py_ssize_t)sizeof ending)
        return NULL;
    return read_last(at + size, end - sizeof ending, 0x12);
}

PyDoc_STRVAR(usual_events_doc,
"usual_events(chunk: bytes, start: int, longest: int, type_meta: bytes, gvk, codec, head_class,\n"
"    owners_of, shapes) -> tuple[list[frame], int]\n\n"
"The frames of the events from start on, each with its length in front, up to the first that is\n"
"not all there, longer than the longest, of another kind, or not as most of them are; and where\n"
"that begins.");

static PyObject *usual_events(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    struct Shapes shapes;
    struct Shared shared = {0};
    Py_ssize_t start, longest;
    if (!check_count("usual_events", count, 9) || !check_bytes(args[0]) || !check_bytes(args[3]) ||
        !read_position(args[1], PyBytes_GET_SIZE(args[0]), &start) ||
        !read_position(args[2], PY_SSIZE_T_MAX, &longest) || !read_shapes(args[8], &shapes))
        return NULL;
    Bytes chunk = (Bytes)PyBytes_AS_STRING(args[0]);
    Bytes at = chunk + start, end = chunk + PyBytes_GET_SIZE(args[0]);
    PyObject *frames = PyList_New(0);
    if (frames == NULL)
        return NULL;
    while (end - at >= 4) {
        uint32_t length = (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
        if (length > (size_t)longest || length > (size_t)(end - at - 4))
            break;
        Bytes stop = at + 4 + length;
        PyObject *type;
        Bytes object = object_in(at + 4, stop, args[3], &shapes, &type);
        if (object == NULL)
            break;
        Py_ssize_t size = stop - 4 - object;
        PyObject *head = head_of(object, object + size, args[6], args[7], &shared);
        if (head == NULL)
            break;
        PyObject *payload = PyBytes_FromStringAndSize((const char *)object, size);
        if (!add_frame(frames, &shapes, type, payload, head, args[4], args[5]))
            break;
        at = stop;
    }
    forget_shared(&shared);
    return frames_until(frames, at - chunk);
}

/* What an envelope has, as the module keeps it. */
struct Names {
    PyObject *api_version, *kind, *metadata;
};

/* Whether the attribute is this text; 0 with an error, too. */
static int says(PyObject *object, PyObject *attribute, PyObject *text)
{
    PyObject *found = PyObject_GetAttr(object, attribute);
    int is_same = found != NULL && PyUnicode_Check(found) && PyUnicode_Compare(found, text) == 0;
    Py_XDECREF(found);
    return is_same;
}

PyDoc_STRVAR(usual_lines_doc,
"usual_lines(chunk: bytes, start: int, longest: int, decode, api_version: str, kind: str, gvk,\n"
"    codec, shapes) -> tuple[list[frame], int]\n\n"
"The frames of the lines from start on, up to the first that is not all there, longer than the\n"
"longest, of another kind, or not as most of them are; and where that begins. decode gives an\n"
"envelope with metadata, api_version and kind.");

static PyObject *usual_lines(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const char before_type[] = "{\"type\":\"", before_object[] = "\",\"object\":";
    const Py_ssize_t type_at_least = sizeof before_type - 1, object_after = sizeof before_object - 1;
    const struct Names *names = PyModule_GetState(module);
    struct Shapes shapes;
    Py_ssize_t start, longest, type_size;
    if (!check_count("usual_lines", count, 9) || !check_bytes(args[0]) ||
        !read_position(args[1], PyBytes_GET_SIZE(args[0]), &start) ||
        !read_position(args[2], PY_SSIZE_T_MAX, &longest) || !read_shapes(args[8], &shapes))
        return NULL;
    Bytes chunk = (Bytes)PyBytes_AS_STRING(args[0]);
    Bytes at = chunk + start, end = chunk + PyBytes_GET_SIZE(args[0]), stop;
    PyObject *frames = PyList_New(0);
    if (frames == NULL)
        return NULL;
    while (at < end && (stop = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        if (stop - at > longest || stop - at <= type_at_least || stop[-1] != '}' ||
            memcmp(at, before_type, (size_t)type_at_least) != 0)
            break;
        PyObject *type = type_at(shapes.types, at + type_at_least, stop, &type_size);
        if (type == NULL)
            break;
        Bytes object = at + type_at_least + type_size + object_after;
        if (object >= stop ||
            memcmp(object - object_after, before_object, (size_t)object_after) != 0)
            break;
        PyObject *payload = PyBytes_FromStringAndSize((const char *)object, stop - 1 - object);
        PyObject *envelope = payload == NULL ? NULL : PyObject_CallOneArg(args[3], payload);
        PyObject *head = NULL;
        if (envelope != NULL && says(envelope, names->api_version, args[4]) &&
            says(envelope, names->kind, args[5]))
            head = PyObject_GetAttr(envelope, names->metadata);
        Py_XDECREF(envelope);
        if (!add_frame(frames, &shapes, type, payload, head, args[6], args[7]))
            break;
        at = stop + 1;
    }
    return frames_until(frames, at - chunk);
}

/* -- the module -------------------------------------------------------------------------------- */

#define FUNCTION(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, name##_doc}

static PyMethodDef functions[] = {
    FUNCTION(unchunked), FUNCTION(usual_head), FUNCTION(usual_events), FUNCTION(usual_lines),
    {NULL, NULL, 0, NULL},
};

static int begin(PyObject *module)
{
    struct Names *names = PyModule_GetState(module);
    names->api_version = PyUnicode_InternFromString("api_version");
    names->kind = PyUnicode_InternFromString("kind");
    names->metadata = PyUnicode_InternFromString("metadata");
    return names->api_version && names->kind && names->metadata ? 0 : -1;
}

static void end(void *module)
{
    struct Names *names = PyModule_GetState((PyObject *)module);
    Py_CLEAR(names->api_version);
    Py_CLEAR(names->kind);
    Py_CLEAR(names->metadata);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)begin},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "kinform._native._cuts",
    .m_doc = "Streams of servers in; what they are usually made of out.",
    .m_size = sizeof(struct Names),
    .m_methods = functions,
    .m_slots = slots,
    .m_free = end,
};

PyMODINIT_FUNC PyInit__cuts(void)
{
    return PyModuleDef_Init(&definition);
}
