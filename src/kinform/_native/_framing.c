/* Splits streams of servers: chunks of HTTP bodies, watch events, heads of protobuf objects.

   Every function handles only the usual encoding of servers. It stops at the first input that
   differs, returns how far it got, and leaves the rest to the Python code, which handles every case
   and reports errors in detail. Classes are arguments, because this package imports nothing.

   Why C: an event arrives every few milliseconds, and by then interpreted code has left the CPU
   caches. In C the same steps save a tenth of an event's CPU, and a fifth of a sync's (docs/decisions/0018-compiled-code-reads-the-common-formats.md). */

#include "_wire.h"

#include <time.h>

/* -- arguments --------------------------------------------------------------------------------- */

static int check_count(const char *name, Py_ssize_t given, Py_ssize_t expected)
{
    if (given == expected)
        return 1;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", name, expected, given);
    return 0;
}

/* -- chunked bodies ---------------------------------------------------------------------------- */

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

/* Read the end of one chunk and the size of the next. Returns the number of bytes read; 0 if they
   are incomplete, announce the end of the body, or contain more than a size. */
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

/* Copy the contents of the chunks, which are at most end - *from bytes. Returns their size.

   A single pass: each size is read once and compared with the remaining input before its bytes are
   copied, so nothing that another thread writes into the input meanwhile can exceed the output. */
static Py_ssize_t copy_chunks(Bytes *from, Bytes end, Py_ssize_t *left, char *to)
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
        memcpy(to + total, at, (size_t)size);
        total += size;
        at += size;
        rest -= size;
    }
    *from = at;
    *left = rest;
    return total;
}

/* Whether the remaining bytes are an incomplete size of the next chunk. */
static int is_beginning_of_size(Bytes at, Bytes end)
{
    Py_ssize_t digits = 0;
    if (end - at > 11 || *at++ != '\r' || (at < end && *at++ != '\n'))
        return 0;
    for (; at < end && hex_digit(*at) >= 0; at++)
        digits++;
    return digits <= 7 && (at == end || (digits > 0 && *at == '\r' && at + 1 == end));
}

PyDoc_STRVAR(try_unchunk_doc,
"try_unchunk(data: bytearray, start: int, end: int, left: int) -> tuple[bytes, int, int, bool]\n\n"
"The content of the chunks in data[start:end], the position after them, the number of bytes\n"
"missing from the last chunk, and whether more data is needed to continue.");

static PyObject *try_unchunk(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Py_ssize_t start, end, left;
    Py_buffer buffer;
    PyObject *body = NULL, *result = NULL;
    if (!check_count("try_unchunk", count, 4))
        return NULL;
    if (!PyByteArray_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "try_unchunk reads a bytearray");
        return NULL;
    }
    /* While the buffer is held, the bytearray cannot be resized. */
    if (PyObject_GetBuffer(args[0], &buffer, PyBUF_SIMPLE) < 0)
        return NULL;
    if (!read_position(args[2], buffer.len, &end) || !read_position(args[1], end, &start) ||
        !read_position(args[3], PY_SSIZE_T_MAX, &left) ||
        (body = PyBytes_FromStringAndSize(NULL, end - start)) == NULL)
        goto done;
    Bytes data = buffer.buf, at = data + start;
    Py_ssize_t size = copy_chunks(&at, data + end, &left, PyBytes_AS_STRING(body));
    int is_all = at == data + end || (left == 0 && is_beginning_of_size(at, data + end));
    if (_PyBytes_Resize(&body, size) == 0)
        result = Py_BuildValue("(OnnO)", body, (Py_ssize_t)(at - data), left,
                               is_all ? Py_True : Py_False);
done:
    Py_XDECREF(body);
    PyBuffer_Release(&buffer);
    return result;
}

/* -- heads of protobuf messages ---------------------------------------------------------------- */

/* Skip a field. Returns the position after it; NULL for metadata, a group, or a malformed field. */
static Bytes skip_field(Bytes at, Bytes end)
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

static PyObject *text_of(Bytes at, Py_ssize_t size)
{
    return PyUnicode_DecodeUTF8((const char *)at, size, NULL);
}

/* Values that objects share, because the objects of a workload have the same namespace, the same
   owner and mostly the same labels. They are in tables of a fixed size and not interned, because
   Python 3.12 never frees an interned string. */
#define SHARED_NAMES 4096 /* namespaces and names of labels, of all chunks */
#define LONGEST_NAME 317  /* the limit of a label's name */
#define SHARED_VALUES 64  /* values of labels, of one chunk */
#define LONGEST_VALUE 63  /* the limit of a label's value */

struct Shared {
    PyObject *values[SHARED_VALUES];
    Bytes owner; /* the last owner reference, in the chunk */
    Py_ssize_t owner_size;
    PyObject *owners; /* the owners decoded from it */
};

/* The state of the module. */
struct State {
    PyObject *api_version, *kind, *metadata; /* the attributes of decoded heads */
    PyObject *names[SHARED_NAMES];
#ifdef Py_GIL_DISABLED
    PyMutex lock; /* of the names */
#endif
};

static void clear_texts(PyObject **slots, int count)
{
    for (int slot = 0; slot < count; slot++)
        Py_CLEAR(slots[slot]);
}

static void clear_shared(struct Shared *shared)
{
    clear_texts(shared->values, SHARED_VALUES);
    Py_CLEAR(shared->owners);
}

/* Whether a string equals these bytes; false unless it is ASCII. */
static int is_text(PyObject *text, Bytes at, Py_ssize_t size)
{
    return PyUnicode_IS_COMPACT_ASCII(text) && PyUnicode_GET_LENGTH(text) == size &&
           memcmp(PyUnicode_1BYTE_DATA(text), at, (size_t)size) == 0;
}

/* Return the same string for equal bytes, unless another one has replaced it in its slot. NULL with
   an error. */
static PyObject *shared_text(PyObject **slots, uint32_t count, Bytes at, Py_ssize_t size)
{
    uint32_t hash = 2166136261u;
    for (Py_ssize_t index = 0; index < size; index++)
        hash = (hash ^ at[index]) * 16777619u;
    PyObject **slot = &slots[hash % count];
    if (*slot != NULL && is_text(*slot, at, size))
        return Py_NewRef(*slot);
    PyObject *text = text_of(at, size);
    Py_XINCREF(text);
    Py_XSETREF(*slot, text);
    return text;
}

static PyObject *value_of(struct Shared *shared, Bytes at, Py_ssize_t size)
{
    if (shared == NULL || size > LONGEST_VALUE)
        return text_of(at, size);
    return shared_text(shared->values, SHARED_VALUES, at, size);
}

static PyObject *name_of(struct State *state, Bytes at, Py_ssize_t size)
{
    if (size > LONGEST_NAME)
        return text_of(at, size);
#ifdef Py_GIL_DISABLED
    PyMutex_Lock(&state->lock);
#endif
    PyObject *name = shared_text(state->names, SHARED_NAMES, at, size);
#ifdef Py_GIL_DISABLED
    PyMutex_Unlock(&state->lock);
#endif
    return name;
}

/* The positions of the owner references. Objects with more of them are left to Python. */
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

/* Decode the owners with owners_of(); NULL with an error. */
static PyObject *decode_owners(struct Owners *owners, PyObject *owners_of)
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

/* The same, but reuse the owners of the previous object if the reference is equal. */
static PyObject *shared_owners(struct Shared *shared, struct Owners *owners, PyObject *owners_of)
{
    if (shared == NULL || owners->count != 1)
        return decode_owners(owners, owners_of);
    if (shared->owners != NULL && shared->owner_size == owners->sizes[0] &&
        memcmp(shared->owner, owners->at[0], (size_t)shared->owner_size) == 0)
        return Py_NewRef(shared->owners);
    PyObject *made = decode_owners(owners, owners_of);
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

/* Format a time message as in JSON. NULL for an unusual encoding, or with an error. */
static PyObject *time_text(Bytes at, Bytes end)
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
    PyObject *last_label;
    struct Owners owners;
    struct Shared *shared; /* or NULL */
    struct State *state;
};

/* Add a label, whose name must be greater than the last one. Returns 0 for an unusual encoding, or
   with an error. */
static int add_label(struct Metadata *metadata, Bytes at, Py_ssize_t size)
{
    Bytes end = at + size, value;
    Py_ssize_t key_size;
    int is_added = 0;
    if (size < 4 || *at != 0x0A || (at = read_size(at + 1, end, &key_size)) == NULL)
        return 0;
    value = read_last(at + key_size, end, 0x12);
    if (value == NULL || (metadata->labels == NULL && (metadata->labels = PyDict_New()) == NULL))
        return 0;
    PyObject *last = metadata->last_label, *name = name_of(metadata->state, at, key_size);
    PyObject *text = name == NULL ? NULL : value_of(metadata->shared, value, end - value);
    if (text != NULL && (last == NULL || PyUnicode_Compare(last, name) < 0))
        is_added = PyDict_SetItem(metadata->labels, name, text) == 0;
    if (is_added)
        Py_XSETREF(metadata->last_label, Py_NewRef(name));
    Py_XDECREF(name);
    Py_XDECREF(text);
    return is_added;
}

/* Returns 0 for an unusual encoding, or with an error. */
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
        if (tag == 0x8A) { /* managedFields, a tag of two bytes */
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
            if (!add_label(metadata, at, size))
                return 0;
            break;
        case 0x4A:
            if (metadata->deleted_at != NULL ||
                (metadata->deleted_at = time_text(at, at + size)) == NULL)
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
            metadata->texts[text] =
                text == NAMESPACE ? name_of(metadata->state, at, size) : text_of(at, size);
            if (metadata->texts[text] == NULL)
                return 0;
        }
        at += size;
    }
    return 1;
}

/* Create an instance of the head class; NULL with an error. */
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

/* Decode the head of a message. NULL for an unusual encoding, or with an error. */
static PyObject *read_head(Bytes at, Bytes end, PyObject *head_class, PyObject *owners_of,
                         struct Shared *shared, struct State *state)
{
    struct Metadata metadata = {.shared = shared, .state = state};
    PyObject *head = NULL;
    Py_ssize_t size;
    if (at == end || *at != 0x0A || (at = read_size(at + 1, end, &size)) == NULL)
        return NULL;
    /* The other fields must be complete; their content is not read. */
    for (Bytes part = at + size; part < end;) {
        part = skip_field(part, end);
        if (part == NULL)
            return NULL;
    }
    if (read_metadata(&metadata, at, at + size))
        head = make_head(&metadata, head_class, owners_of);
    for (int text = 0; text < TEXTS; text++)
        Py_XDECREF(metadata.texts[text]);
    Py_XDECREF(metadata.deleted_at);
    Py_XDECREF(metadata.labels);
    Py_XDECREF(metadata.last_label);
    return head;
}

PyDoc_STRVAR(try_head_doc,
"try_head(payload: bytes, head_class, owners_of) -> head | None\n\n"
"Decode the head of an object's message; None if its encoding is unusual.");

static PyObject *try_head(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!check_count("try_head", count, 3) || !check_bytes(args[0]))
        return NULL;
    Bytes payload = (Bytes)PyBytes_AS_STRING(args[0]);
    PyObject *head = read_head(payload, payload + PyBytes_GET_SIZE(args[0]), args[1], args[2], NULL,
                               PyModule_GetState(module));
    if (head == NULL && clear_content_error())
        Py_RETURN_NONE;
    return head;
}

/* -- events ------------------------------------------------------------------------------------ */

/* The classes and event types to create frames of: (record class, frame class, types). */
struct Shapes {
    PyObject *record_class, *frame_class, *types;
};

static int read_shapes(PyObject *given, struct Shapes *shapes)
{
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "the shapes must be a tuple");
        return 0;
    }
    return PyArg_ParseTuple(given, "OOO!", &shapes->record_class, &shapes->frame_class,
                            &PyTuple_Type, &shapes->types);
}

/* Find the event type at a position. Returns it borrowed, with its length; NULL if there is none. */
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

/* Append a frame with a record. Steals the references to payload and head. Returns 0 with an
   error, or if one of them is NULL. */
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

/* Return the frames and the position after them; NULL if an error propagates. Steals the frames. */
static PyObject *frames_until(PyObject *frames, Py_ssize_t at)
{
    if (!clear_content_error()) {
        Py_DECREF(frames);
        return NULL;
    }
    return Py_BuildValue("(Nn)", frames, at);
}

/* Find the object in an event. NULL for an unusual encoding, or with an error. */
static Bytes find_object(Bytes at, Bytes end, PyObject *type_meta, struct Shapes *shapes,
                       PyObject **type)
{
    static const unsigned char magic[] = {'k', '8', 's', 0, 0x0A};
    /* The encoding and the content type, which Go writes even if they are empty. */
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

PyDoc_STRVAR(try_events_doc,
"try_events(chunk: bytes, start: int, longest: int, type_meta: bytes, gvk, codec, head_class,\n"
"    owners_of, shapes) -> tuple[list[frame], int]\n\n"
"Decode the length-prefixed events from start on, up to the first that is incomplete, longer than\n"
"longest, of another kind or in an unusual encoding. Return the frames and its position.");

static PyObject *try_events(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    struct Shapes shapes;
    struct Shared shared = {0};
    struct State *state = PyModule_GetState(module);
    Py_ssize_t start, longest;
    if (!check_count("try_events", count, 9) || !check_bytes(args[0]) || !check_bytes(args[3]) ||
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
        Bytes object = find_object(at + 4, stop, args[3], &shapes, &type);
        if (object == NULL)
            break;
        Py_ssize_t size = stop - 4 - object;
        PyObject *head = read_head(object, object + size, args[6], args[7], &shared, state);
        if (head == NULL)
            break;
        PyObject *payload = PyBytes_FromStringAndSize((const char *)object, size);
        if (!add_frame(frames, &shapes, type, payload, head, args[4], args[5]))
            break;
        at = stop;
    }
    clear_shared(&shared);
    return frames_until(frames, at - chunk);
}

/* Whether an attribute equals this text; also 0 with an error. */
static int has_text(PyObject *object, PyObject *attribute, PyObject *text)
{
    PyObject *found = PyObject_GetAttr(object, attribute);
    int is_same = found != NULL && PyUnicode_Check(found) && PyUnicode_Compare(found, text) == 0;
    Py_XDECREF(found);
    return is_same;
}

PyDoc_STRVAR(try_lines_doc,
"try_lines(chunk: bytes, start: int, longest: int, decode, api_version: str, kind: str, gvk,\n"
"    codec, shapes) -> tuple[list[frame], int]\n\n"
"Decode the lines from start on, up to the first that is incomplete, longer than longest, of\n"
"another kind or in an unusual encoding. Return the frames and its position. decode returns an\n"
"object with metadata, api_version and kind.");

static PyObject *try_lines(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const char before_type[] = "{\"type\":\"", before_object[] = "\",\"object\":";
    const Py_ssize_t type_at_least = sizeof before_type - 1, object_after = sizeof before_object - 1;
    const struct State *state = PyModule_GetState(module);
    struct Shapes shapes;
    Py_ssize_t start, longest, type_size;
    if (!check_count("try_lines", count, 9) || !check_bytes(args[0]) ||
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
        /* Compare sizes, not pointers: the object may begin after the end of the chunk. */
        if (stop - at <= type_at_least + type_size + object_after)
            break;
        Bytes object = at + type_at_least + type_size + object_after;
        if (memcmp(object - object_after, before_object, (size_t)object_after) != 0)
            break;
        PyObject *payload = PyBytes_FromStringAndSize((const char *)object, stop - 1 - object);
        PyObject *found = payload == NULL ? NULL : PyObject_CallOneArg(args[3], payload);
        PyObject *head = NULL;
        if (found != NULL && has_text(found, state->api_version, args[4]) &&
            has_text(found, state->kind, args[5]))
            head = PyObject_GetAttr(found, state->metadata);
        Py_XDECREF(found);
        if (!add_frame(frames, &shapes, type, payload, head, args[6], args[7]))
            break;
        at = stop + 1;
    }
    return frames_until(frames, at - chunk);
}

/* -- the module -------------------------------------------------------------------------------- */

#define FUNCTION(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, name##_doc}

static PyMethodDef functions[] = {
    FUNCTION(try_unchunk), FUNCTION(try_head), FUNCTION(try_events), FUNCTION(try_lines),
    {NULL, NULL, 0, NULL},
};

static int begin(PyObject *module)
{
    struct State *state = PyModule_GetState(module);
    state->api_version = PyUnicode_InternFromString("api_version");
    state->kind = PyUnicode_InternFromString("kind");
    state->metadata = PyUnicode_InternFromString("metadata");
    return state->api_version && state->kind && state->metadata ? 0 : -1;
}

static void end(void *module)
{
    struct State *state = PyModule_GetState((PyObject *)module);
    Py_CLEAR(state->api_version);
    Py_CLEAR(state->kind);
    Py_CLEAR(state->metadata);
    clear_texts(state->names, SHARED_NAMES);
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
    .m_name = "kinform._native._framing",
    .m_doc = "Splits streams of servers in their usual encoding.",
    .m_size = sizeof(struct State),
    .m_methods = functions,
    .m_slots = slots,
    .m_free = end,
};

PyMODINIT_FUNC PyInit__framing(void)
{
    return PyModuleDef_Init(&definition);
}
