/* Converts protobuf messages to the structs and views of models.

   A StructReader knows the position of each field in a message and its conversion, which Python
   describes (kinform/protobuf/_native_readers.py). It accepts the usual encoding of servers. At
   anything else (a repeated scalar, invalid UTF-8, a group) it stops without an error, and Python
   reads the same bytes with a complete parser.

   Why C: a complete pod consists of two hundred structs, lists and dicts. Created here, directly from
   the bytes, they cost a quarter of parsing a message and requesting each field of it
   (docs/decisions/0018-compiled-code-reads-the-common-formats.md).

   A struct is filled through the offsets of its slots, which its class provides: they are members
   like those of any class with __slots__. kinform/_native/_canary.py checks at import that structs
   of the installed msgspec can be created in this way. */

#include "_wire.h"

#include <structmember.h>

/* Far above all messages of Kubernetes. The parser counts depth in the same way, up to 100. */
#define DEEPEST 48
#define HIGHEST_NUMBER 4095
#define LONGEST_PATH 8

enum Kind {
    TEXT,
    BYTES,
    BOOL,
    INT32,
    INT64,
    FLOAT64,
    STRUCT,        /* convert() returns its reader */
    VIEW,          /* convert() returns its class, and a reader of its fields */
    TIME,          /* convert(seconds) */
    TEXT_OF,       /* convert(the only field of the message, a text) */
    BYTES_OF,      /* convert(the only field of the message, bytes) */
    INT_OR_STRING,
    CONVERTED,     /* convert(the bytes of the message) */
    KINDS
};

static const char *const kind_names[KINDS] = {
    "text", "bytes", "bool", "int32", "int64", "float64", "struct", "view", "time", "text of",
    "bytes of", "int or string", "converted",
};

enum Shape { ONE, LIST, MAP, SHAPES };

static const char *const shape_names[SHAPES] = {"one", "list", "map"};

enum Absent {
    IS,   /* absent itself */
    MADE, /* the result of absent() */
    READ, /* of a struct: the struct of an empty message */
    ABSENTS
};

static const char *const absent_names[ABSENTS] = {"is", "made", "read"};

struct Field {
    Py_ssize_t offset; /* in a struct */
    enum Shape shape;
    enum Kind kind;
    int is_there;      /* whether the message has it, not only the model */
    enum Absent absence;
    PyObject *convert;
    PyObject *settled; /* the result of convert(), once it was called */
    PyObject *absent;
};

/* The fields of one message by number: a field, or an inlined message with more of them. */
struct Level {
    Py_ssize_t count;
    struct Node *nodes;
};

struct Node {
    Py_ssize_t field; /* -1 for none */
    struct Level *inlined;
};

struct State {
    PyObject *struct_meta; /* the metaclass of structs */
    PyObject *reader_type;
    PyObject *view_field_type;
    PyObject *frozen_field_type;
};

typedef struct {
    PyObject_HEAD
    PyTypeObject *model; /* NULL for fields that do not form a struct */
    Py_ssize_t count;
    struct Field *fields;
    struct Level root;
} Reader;

/* The destination of the values of one message. */
struct Sink {
    Reader *reader;
    PyObject *object;  /* a struct; or */
    PyObject **values; /* an array; or */
    Py_ssize_t only;   /* only this field, in the first element of the array */
    PyObject *payload; /* the bytes that views refer to */
    struct Field *last_map;
    Bytes last_key;
    Py_ssize_t last_key_size;
};

static PyTypeObject *reader_type(PyObject *type);
static PyObject *read_struct(Reader *reader, Bytes at, Bytes end, int depth);
static PyObject *make_view(struct Sink *sink, PyObject *made_of, Bytes at, Py_ssize_t size);

/* All of these return NULL or 0 for an unusual encoding, and also with an error. */

/* -- values ------------------------------------------------------------------------------------ */

/* Check the result of convert(). Returns 0 with an error. */
static int check_settled(Reader *owner, struct Field *field, PyObject *found)
{
    PyObject *reader = found;
    PyTypeObject *class = NULL;
    if (field->kind == VIEW && PyTuple_Check(found) && PyTuple_GET_SIZE(found) == 2 &&
        PyType_Check(PyTuple_GET_ITEM(found, 0))) {
        class = (PyTypeObject *)PyTuple_GET_ITEM(found, 0);
        reader = PyTuple_GET_ITEM(found, 1);
    }
    if (Py_IS_TYPE(reader, Py_TYPE(owner)) && (field->kind == VIEW) == (class != NULL)) {
        PyTypeObject *model = ((Reader *)reader)->model;
        if (model != NULL && (class == NULL || PyType_IsSubtype(class, model)))
            return 1;
    }
    PyErr_SetString(PyExc_TypeError, "convert() must return a reader of structs, or a class and a reader");
    return 0;
}

#ifdef Py_GIL_DISABLED
#define BEGIN_ALONE(owner) Py_BEGIN_CRITICAL_SECTION(owner)
#define END_ALONE() Py_END_CRITICAL_SECTION()
#else
#define BEGIN_ALONE(owner) {
#define END_ALONE() }
#endif

/* Return the result of convert() for a struct or a view, borrowed; NULL with an error. It is called
   when the first such message is read, because models contain each other. Several threads may call
   it at the same time; the first result is kept. */
static PyObject *settled(Reader *owner, struct Field *field)
{
    PyObject *known;
    BEGIN_ALONE(owner);
    known = field->settled;
    END_ALONE();
    if (known != NULL)
        return known;
    PyObject *found = PyObject_CallNoArgs(field->convert);
    if (found == NULL)
        return NULL;
    if (!check_settled(owner, field, found)) {
        Py_DECREF(found);
        return NULL;
    }
    BEGIN_ALONE(owner);
    if (field->settled == NULL) {
        field->settled = found;
        found = NULL;
    }
    known = field->settled;
    END_ALONE();
    Py_XDECREF(found);
    return known;
}

/* Call a function with one argument, whose reference is stolen. */
static PyObject *call(PyObject *function, PyObject *argument)
{
    if (argument == NULL)
        return NULL;
    PyObject *result = PyObject_CallOneArg(function, argument);
    Py_DECREF(argument);
    return result;
}

static PyObject *text_at(Bytes at, Py_ssize_t size)
{
    return PyUnicode_DecodeUTF8((const char *)at, size, NULL);
}

static PyObject *bytes_at(Bytes at, Py_ssize_t size)
{
    return PyBytes_FromStringAndSize((const char *)at, size);
}

static PyObject *time_at(PyObject *moment, Bytes at, Bytes end)
{
    uint64_t seconds;
    if (at == end) /* Go's zero */
        Py_RETURN_NONE;
    if (!read_seconds(at, end, &seconds))
        return NULL;
    return call(moment, PyLong_FromUnsignedLongLong(seconds));
}

static PyObject *int_or_string_at(Bytes at, Bytes end)
{
    uint64_t type = 0, number = 0;
    if (at < end && *at == 0x08 && (at = read_number(at + 1, end, &type)) == NULL)
        return NULL;
    if (at < end && *at == 0x10 && (at = read_number(at + 1, end, &number)) == NULL)
        return NULL;
    if (at < end && (at = read_last(at, end, 0x1A)) == NULL)
        return NULL;
    return type ? text_at(at, end - at) : PyLong_FromLong((int32_t)number);
}

/* Convert a length-delimited value. */
static PyObject *value_at(struct Sink *sink, struct Field *field, Bytes at, Py_ssize_t size,
                          int depth)
{
    PyObject *found;
    Bytes end = at + size;
    switch (field->kind) {
    case TEXT:
        return text_at(at, size);
    case BYTES:
        return bytes_at(at, size);
    case STRUCT:
        found = settled(sink->reader, field);
        return found == NULL ? NULL : read_struct((Reader *)found, at, end, depth + 1);
    case VIEW:
        found = settled(sink->reader, field);
        return found == NULL ? NULL : make_view(sink, found, at, size);
    case TIME:
        return time_at(field->convert, at, end);
    case TEXT_OF:
    case BYTES_OF:
        if (size > 0 && (at = read_last(at, end, 0x0A)) == NULL)
            return NULL;
        size = end - at;
        return call(field->convert, field->kind == TEXT_OF ? text_at(at, size) : bytes_at(at, size));
    case INT_OR_STRING:
        return int_or_string_at(at, end);
    case CONVERTED:
        return call(field->convert, bytes_at(at, size));
    default:
        return NULL; /* a number */
    }
}

static PyObject *number_of(struct Field *field, uint64_t number)
{
    switch (field->kind) {
    case BOOL:
        return PyBool_FromLong(number != 0);
    case INT32:
        return PyLong_FromLong((int32_t)number);
    case INT64:
        return PyLong_FromLongLong((int64_t)number);
    default:
        return NULL; /* a length-delimited value */
    }
}

/* Convert the value after a tag. */
static PyObject *value_of(struct Sink *sink, struct Field *field, int wire_type, uint64_t number,
                          Bytes at, Py_ssize_t size, int depth)
{
    if (wire_type == 0)
        return number_of(field, number);
    if (wire_type == 2)
        return value_at(sink, field, at, size, depth);
    if (wire_type != 1 || field->kind != FLOAT64)
        return NULL;
    double found = PyFloat_Unpack8((const char *)at, 1);
    return found == -1.0 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(found);
}

/* Return the value of an absent field. */
static PyObject *absent_value(Reader *reader, struct Field *field, int depth)
{
    if (field->absence == IS)
        return Py_NewRef(field->absent);
    if (field->absence == READ) {
        PyObject *found = settled(reader, field);
        Bytes nothing = (Bytes) "";
        return found == NULL ? NULL : read_struct((Reader *)found, nothing, nothing, depth + 1);
    }
    if (field->absent == (PyObject *)&PyList_Type)
        return PyList_New(0);
    if (field->absent == (PyObject *)&PyDict_Type)
        return PyDict_New();
    return PyObject_CallNoArgs(field->absent);
}

/* -- messages ---------------------------------------------------------------------------------- */

static PyObject **slot_of(PyObject *object, struct Field *field)
{
    return (PyObject **)((char *)object + field->offset);
}

/* Return the destination of a field's value; NULL if it is not requested. */
static PyObject **place_of(struct Sink *sink, Py_ssize_t field)
{
    if (sink->object != NULL)
        return slot_of(sink->object, &sink->reader->fields[field]);
    if (sink->only < 0)
        return &sink->values[field];
    return sink->only == field ? sink->values : NULL;
}

static int put_into_list(PyObject **place, PyObject *value)
{
    int is_put = value != NULL && (*place != NULL || (*place = PyList_New(0)) != NULL) &&
                 PyList_Append(*place, value) == 0;
    Py_XDECREF(value);
    return is_put;
}

/* Entries are sorted by key, as Go writes them and as in JSON. */
static int put_into_map(struct Sink *sink, struct Field *field, PyObject **place, Bytes at,
                        Py_ssize_t size, int depth)
{
    Bytes end = at + size, value;
    Py_ssize_t key_size;
    int is_put = 0;
    if (size < 4 || *at != 0x0A || (at = read_size(at + 1, end, &key_size)) == NULL)
        return 0;
    value = read_last(at + key_size, end, 0x12);
    if (value == NULL)
        return 0;
    if (*place == NULL) {
        if ((*place = PyDict_New()) == NULL)
            return 0;
    } else {
        Py_ssize_t before = sink->last_key_size;
        if (sink->last_map != field)
            return 0;
        int order = memcmp(sink->last_key, at, (size_t)(before < key_size ? before : key_size));
        if (order > 0 || (order == 0 && before >= key_size))
            return 0;
    }
    sink->last_map = field;
    sink->last_key = at;
    sink->last_key_size = key_size;
    PyObject *name = text_at(at, key_size);
    PyObject *found = name == NULL ? NULL : value_at(sink, field, value, end - value, depth + 1);
    if (found != NULL)
        is_put = PyDict_SetItem(*place, name, found) == 0;
    Py_XDECREF(name);
    Py_XDECREF(found);
    return is_put;
}

static int read_level(struct Sink *sink, struct Level *level, Bytes at, Bytes end, int depth)
{
    while (at < end) {
        uint64_t tag, number = 0;
        Py_ssize_t size = 0;
        at = read_short(at, end, &tag);
        if (at == NULL || tag >> 3 == 0)
            return 0;
        int wire_type = tag & 7;
        if (wire_type == 0)
            at = read_number(at, end, &number);
        else if (wire_type == 2)
            at = read_size(at, end, &size);
        else if (wire_type == 1 || wire_type == 5) {
            size = wire_type == 1 ? 8 : 4;
            if (end - at < size)
                return 0;
        } else
            return 0;
        if (at == NULL)
            return 0;
        Bytes value = at;
        at += size;
        if (tag >> 3 >= (uint64_t)level->count)
            continue;
        struct Node *node = &level->nodes[tag >> 3];
        if (node->inlined != NULL) {
            if (wire_type != 2 || !read_level(sink, node->inlined, value, at, depth + 1))
                return 0;
            continue;
        }
        PyObject **place = node->field < 0 ? NULL : place_of(sink, node->field);
        if (place == NULL)
            continue;
        struct Field *field = &sink->reader->fields[node->field];
        if (field->shape == MAP) {
            if (wire_type != 2 || !put_into_map(sink, field, place, value, size, depth))
                return 0;
            continue;
        }
        if (field->shape == ONE && *place != NULL)
            return 0; /* a duplicate */
        PyObject *found = value_of(sink, field, wire_type, number, value, size, depth);
        if (field->shape == LIST) {
            if (!put_into_list(place, found))
                return 0;
        } else if ((*place = found) == NULL)
            return 0;
    }
    return 1;
}

/* Create an empty instance, hidden from the garbage collector until it is complete. */
static PyObject *new_instance(PyTypeObject *class)
{
    PyObject *made = class->tp_alloc(class, 0);
    if (made != NULL && PyObject_IS_GC(made))
        PyObject_GC_UnTrack(made);
    return made;
}

/* Whether a struct with this value must be tracked by the garbage collector. msgspec decides in the
   same way: containers are tracked, except for tuples of texts. */
static int is_worth_tracking(PyObject *value)
{
    return PyType_IS_GC(Py_TYPE(value)) &&
           (!PyTuple_CheckExact(value) || PyObject_GC_IsTracked(value));
}

static PyObject *read_struct(Reader *reader, Bytes at, Bytes end, int depth)
{
    int is_tracked = 0;
    if (depth > DEEPEST || reader->model == NULL)
        return NULL;
    PyObject *made = new_instance(reader->model);
    if (made == NULL)
        return NULL;
    struct Sink sink = {.reader = reader, .object = made, .only = -1};
    if (!read_level(&sink, &reader->root, at, end, depth))
        goto failed;
    for (Py_ssize_t index = 0; index < reader->count; index++) {
        PyObject **place = slot_of(made, &reader->fields[index]);
        if (*place == NULL && (*place = absent_value(reader, &reader->fields[index], depth)) == NULL)
            goto failed;
        is_tracked |= is_worth_tracking(*place);
    }
    if (is_tracked && PyObject_IS_GC(made))
        PyObject_GC_Track(made);
    return made;
failed:
    Py_DECREF(made);
    return NULL;
}

/* -- views ------------------------------------------------------------------------------------- */

/* Create a view, which knows only the position of its message. */
static PyObject *make_view(struct Sink *sink, PyObject *made_of, Bytes at, Py_ssize_t size)
{
    PyTypeObject *class = (PyTypeObject *)PyTuple_GET_ITEM(made_of, 0);
    Reader *reader = (Reader *)PyTuple_GET_ITEM(made_of, 1);
    if (sink->payload == NULL)
        return NULL;
    PyObject *made = new_instance(class), *known = NULL, *wire = NULL;
    if (made == NULL)
        return NULL;
    int is_made = 0;
    for (Py_ssize_t index = 0; index < reader->count; index++) {
        struct Field *field = &reader->fields[index];
        if (!field->is_there && (*slot_of(made, field) = absent_value(reader, field, 0)) == NULL)
            goto done;
    }
    Py_ssize_t start = at - (Bytes)PyBytes_AS_STRING(sink->payload);
    wire = Py_BuildValue("(Onn)", sink->payload, start, start + size);
    known = wire == NULL ? NULL : PyObject_GenericGetDict(made, NULL);
    is_made = known != NULL && PyDict_SetItemString(known, "_wire", wire) == 0;
done:
    Py_XDECREF(wire);
    Py_XDECREF(known);
    if (is_made) {
        if (PyObject_IS_GC(made)) /* not if the model was declared with gc=False */
            PyObject_GC_Track(made);
        return made;
    }
    Py_DECREF(made);
    return NULL;
}

typedef struct {
    PyObject_HEAD
    Reader *reader;
    Py_ssize_t index;
    PyObject *name;
    PyObject *wire; /* the name of the position of a view's message */
    PyObject *read; /* reads the field of a view in Python */
    PyObject *freeze; /* converts a list or dict to a read-only one; None if the field has none */
} ViewField;

static int is_editable(PyObject *value)
{
    return PyList_CheckExact(value) || PyDict_CheckExact(value);
}

/* Return the bytes of a view's message; NULL if there are none. */
static Bytes wire_of(PyObject *wire, Py_ssize_t *size)
{
    Py_ssize_t start, end;
    if (wire == NULL || !PyTuple_Check(wire) || PyTuple_GET_SIZE(wire) != 3)
        return NULL;
    PyObject *payload = PyTuple_GET_ITEM(wire, 0);
    if (!PyBytes_Check(payload) || !PyLong_Check(PyTuple_GET_ITEM(wire, 1)) ||
        !PyLong_Check(PyTuple_GET_ITEM(wire, 2)))
        return NULL;
    if (!read_position(PyTuple_GET_ITEM(wire, 2), PyBytes_GET_SIZE(payload), &end) ||
        !read_position(PyTuple_GET_ITEM(wire, 1), end, &start))
        return NULL;
    *size = end - start;
    return (Bytes)PyBytes_AS_STRING(payload) + start;
}

static PyObject *item_of(PyObject *known, PyObject *name)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *found;
    return PyDict_GetItemRef(known, name, &found) < 0 ? NULL : found;
#else
    return Py_XNewRef(PyDict_GetItemWithError(known, name));
#endif
}

/* Store a value unless there is one already, and return the stored value. Steals the value. */
static PyObject *item_or(PyObject *known, PyObject *name, PyObject *value)
{
    PyObject *first = NULL;
#if PY_VERSION_HEX >= 0x030D0000
    if (PyDict_SetDefaultRef(known, name, value, &first) < 0)
        first = NULL;
#else
    first = Py_XNewRef(PyDict_SetDefault(known, name, value));
#endif
    Py_DECREF(value);
    return first;
}

static PyObject *view_value(ViewField *self, PyObject *known)
{
    Reader *reader = self->reader;
    Py_ssize_t size = 0;
    PyObject *value = NULL;
    /* A new reference, because converters may modify the view. */
    PyObject *wire = item_of(known, self->wire);
    Bytes at = wire_of(wire, &size);
    struct Sink sink = {.reader = reader, .values = &value, .only = self->index};
    if (at != NULL && self->index < reader->count) {
        if (!read_level(&sink, &reader->root, at, at + size, 0))
            Py_CLEAR(value);
        else if (value == NULL)
            value = absent_value(reader, &reader->fields[self->index], 0);
    }
    Py_XDECREF(wire);
    return value;
}

static PyObject *view_field_get(PyObject *object, PyObject *view, PyObject *owner)
{
    ViewField *self = (ViewField *)object;
    if (view == NULL || view == Py_None)
        return Py_NewRef(object);
    PyObject *known = PyObject_GenericGetDict(view, NULL);
    if (known == NULL)
        return NULL;
    PyObject *value = view_value(self, known);
    if (value != NULL) {
        if (self->freeze != Py_None && is_editable(value))
            value = call(self->freeze, value);
        if (value != NULL)
            value = item_or(known, self->name, value);
    } else if (clear_content_error())
        value = PyObject_CallOneArg(self->read, view);
    Py_DECREF(known);
    return value;
}

static PyObject *view_field_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *reader, *name, *read, *freeze;
    Py_ssize_t index;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "ViewField takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OnUOO:ViewField", &reader, &index, &name, &read, &freeze))
        return NULL;
    PyTypeObject *expected = reader_type((PyObject *)type);
    if (expected == NULL)
        return NULL;
    if (!Py_IS_TYPE(reader, expected) || index < 0 || index >= ((Reader *)reader)->count) {
        PyErr_SetString(PyExc_TypeError, "ViewField takes a reader and the index of one of its fields");
        return NULL;
    }
    ViewField *self = (ViewField *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->reader = (Reader *)Py_NewRef(reader);
    self->index = index;
    self->name = Py_NewRef(name);
    self->read = Py_NewRef(read);
    self->freeze = Py_NewRef(freeze);
    self->wire = PyUnicode_InternFromString("_wire");
    if (self->wire == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int view_field_traverse(PyObject *object, visitproc visit, void *arg)
{
    ViewField *self = (ViewField *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->reader);
    Py_VISIT(self->read);
    Py_VISIT(self->freeze);
    return 0;
}

static void view_field_dealloc(PyObject *object)
{
    ViewField *self = (ViewField *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->reader);
    Py_CLEAR(self->read);
    Py_CLEAR(self->freeze);
    Py_CLEAR(self->name);
    Py_CLEAR(self->wire);
    type->tp_free(object);
    Py_DECREF(type);
}

/* -- fields of read-only structs --------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *member; /* the slot in the class of the struct */
    Py_ssize_t offset;
    PyObject *freeze;
} FrozenField;

/* Replace the list or dict in a slot by a read-only one. Returns the value that is then in it. */
static PyObject *freeze_slot(FrozenField *self, PyObject *owner, PyObject *value)
{
    PyObject **slot = (PyObject **)((char *)owner + self->offset);
    PyObject *frozen = PyObject_CallOneArg(self->freeze, value), *replaced = NULL, *found = NULL;
    if (frozen == NULL)
        return NULL;
    BEGIN_ALONE(owner);
    if (*slot == value) { /* no other thread was faster */
        replaced = *slot;
        *slot = Py_NewRef(frozen);
    }
    found = Py_XNewRef(*slot);
    END_ALONE();
    Py_XDECREF(replaced);
    if (found == NULL)
        return frozen;
    Py_DECREF(frozen);
    return found;
}

static PyObject *frozen_field_get(PyObject *object, PyObject *owner, PyObject *class)
{
    FrozenField *self = (FrozenField *)object;
    if (owner == NULL || owner == Py_None)
        return Py_NewRef(self->member);
    /* It checks the class, and that the slot is set. */
    PyObject *value = Py_TYPE(self->member)->tp_descr_get(self->member, owner, class);
    if (value == NULL || !is_editable(value))
        return value;
    PyObject *frozen = freeze_slot(self, owner, value);
    Py_DECREF(value);
    return frozen;
}

/* Return the offset of a member in instances of its class; -1 if it is not the slot of an object. */
static Py_ssize_t slot_offset(PyObject *found)
{
    if (!Py_IS_TYPE(found, &PyMemberDescr_Type))
        return -1;
    PyMemberDescrObject *member = (PyMemberDescrObject *)found;
    Py_ssize_t offset = member->d_member->offset;
    /* An offset outside of the instance would mean that the layout is not understood. */
    if (member->d_member->type != T_OBJECT_EX || offset < (Py_ssize_t)sizeof(PyObject) ||
        offset % (Py_ssize_t)sizeof(PyObject *) != 0 ||
        offset > member->d_common.d_type->tp_basicsize - (Py_ssize_t)sizeof(PyObject *))
        return -1;
    return offset;
}

static PyObject *frozen_field_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *member, *freeze;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "FrozenField takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OO:FrozenField", &member, &freeze))
        return NULL;
    Py_ssize_t offset = slot_offset(member);
    if (offset < 0) {
        PyErr_SetString(PyExc_TypeError, "FrozenField takes the slot of a class");
        return NULL;
    }
    FrozenField *self = (FrozenField *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->member = Py_NewRef(member);
    self->offset = offset;
    self->freeze = Py_NewRef(freeze);
    return (PyObject *)self;
}

static int frozen_field_traverse(PyObject *object, visitproc visit, void *arg)
{
    FrozenField *self = (FrozenField *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->member);
    Py_VISIT(self->freeze);
    return 0;
}

static void frozen_field_dealloc(PyObject *object)
{
    FrozenField *self = (FrozenField *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->member);
    Py_CLEAR(self->freeze);
    type->tp_free(object);
    Py_DECREF(type);
}

/* -- readers ----------------------------------------------------------------------------------- */

static PyObject *reader_parts(PyObject *object, PyObject *payload)
{
    Reader *self = (Reader *)object;
    if (!check_bytes(payload))
        return NULL;
    PyObject **values = PyMem_Calloc((size_t)self->count + 1, sizeof(PyObject *));
    PyObject *parts = NULL;
    if (values == NULL)
        return PyErr_NoMemory();
    struct Sink sink = {.reader = self, .values = values, .only = -1, .payload = payload};
    Bytes at = (Bytes)PyBytes_AS_STRING(payload);
    int is_read = read_level(&sink, &self->root, at, at + PyBytes_GET_SIZE(payload), 0);
    for (Py_ssize_t index = 0; is_read && index < self->count; index++)
        if (values[index] == NULL)
            is_read = (values[index] = absent_value(self, &self->fields[index], 0)) != NULL;
    if (is_read)
        parts = PyList_New(self->count);
    for (Py_ssize_t index = 0; index < self->count; index++) {
        if (parts != NULL)
            PyList_SET_ITEM(parts, index, values[index]);
        else
            Py_XDECREF(values[index]);
    }
    PyMem_Free(values);
    if (parts == NULL && clear_content_error())
        Py_RETURN_NONE;
    return parts;
}

static void free_level(struct Level *level)
{
    for (Py_ssize_t number = 0; number < level->count; number++)
        if (level->nodes[number].inlined != NULL) {
            free_level(level->nodes[number].inlined);
            PyMem_Free(level->nodes[number].inlined);
        }
    PyMem_Free(level->nodes);
    level->nodes = NULL;
    level->count = 0;
}

/* Return the node of a field number; NULL with an error. */
static struct Node *node_of(struct Level *level, PyObject *given)
{
    Py_ssize_t number;
    if (!read_position(given, HIGHEST_NUMBER, &number))
        return NULL;
    if (number >= level->count) {
        struct Node *nodes =
            PyMem_Realloc(level->nodes, (size_t)(number + 1) * sizeof(struct Node));
        if (nodes == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        level->nodes = nodes;
        for (; level->count <= number; level->count++)
            nodes[level->count] = (struct Node){.field = -1};
    }
    return &level->nodes[number];
}

/* Add the path of field numbers to a field. Returns 0 with an error. */
static int add_path(struct Level *level, PyObject *path, Py_ssize_t field)
{
    Py_ssize_t length = PyTuple_GET_SIZE(path);
    if (length > LONGEST_PATH) {
        PyErr_SetString(PyExc_ValueError, "a path has at most 8 field numbers");
        return 0;
    }
    for (Py_ssize_t step = 0; step < length; step++) {
        struct Node *node = node_of(level, PyTuple_GET_ITEM(path, step));
        if (node == NULL)
            return 0;
        int is_last = step == length - 1;
        if (node->field >= 0 || (is_last && node->inlined != NULL)) {
            PyErr_SetString(PyExc_ValueError, "two fields have the same number");
            return 0;
        }
        if (is_last)
            node->field = field;
        else if (node->inlined == NULL) {
            node->inlined = PyMem_Calloc(1, sizeof(struct Level));
            if (node->inlined == NULL) {
                PyErr_NoMemory();
                return 0;
            }
        }
        level = node->inlined;
    }
    return 1;
}

static int index_in(const char *const *names, int count, const char *name, const char *what)
{
    for (int index = 0; index < count; index++)
        if (strcmp(names[index], name) == 0)
            return index;
    PyErr_Format(PyExc_ValueError, "unknown %s '%s'", what, name);
    return -1;
}

/* Return the offset of a field in instances of the class. -1 with an error. */
static Py_ssize_t offset_in(PyTypeObject *model, const char *attribute)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)model, attribute);
    if (found == NULL)
        return -1;
    Py_ssize_t offset = slot_offset(found);
    if (offset >= 0 && !PyType_IsSubtype(model, ((PyMemberDescrObject *)found)->d_common.d_type))
        offset = -1;
    Py_DECREF(found);
    if (offset < 0)
        PyErr_Format(PyExc_TypeError, "%s.%s is not a slot", model->tp_name, attribute);
    return offset;
}

/* Check that these are all fields of the class, in order, so that none stays unset. Returns 0 with
   an error. */
static int check_fields(PyObject *model, PyObject *fields)
{
    PyObject *names = PyObject_GetAttrString(model, "__struct_fields__");
    Py_ssize_t count = PyTuple_GET_SIZE(fields);
    int is_same = names != NULL && PyTuple_Check(names) && PyTuple_GET_SIZE(names) == count;
    for (Py_ssize_t index = 0; is_same && index < count; index++) {
        PyObject *field = PyTuple_GET_ITEM(fields, index);
        is_same = PyTuple_Check(field) && PyTuple_GET_SIZE(field) > 0 &&
                  PyObject_RichCompareBool(PyTuple_GET_ITEM(field, 0),
                                           PyTuple_GET_ITEM(names, index), Py_EQ) == 1;
    }
    Py_XDECREF(names);
    if (!is_same && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "StructReader takes the fields of its model, in order");
    return is_same;
}

/* Add a field, as described by Python. Returns 0 with an error. */
static int add_field(Reader *self, PyObject *given)
{
    struct Field *field = &self->fields[self->count];
    const char *attribute, *shape, *kind, *absence;
    PyObject *path, *convert, *absent;
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "a field must be a tuple");
        return 0;
    }
    if (!PyArg_ParseTuple(given, "sO!ssOsO:field", &attribute, &PyTuple_Type, &path, &shape, &kind,
                          &convert, &absence, &absent))
        return 0;
    int shape_found = index_in(shape_names, SHAPES, shape, "shape");
    int kind_found = shape_found < 0 ? -1 : index_in(kind_names, KINDS, kind, "kind");
    int absence_found = kind_found < 0 ? -1 : index_in(absent_names, ABSENTS, absence, "absence");
    if (absence_found < 0)
        return 0;
    if (absence_found == READ && (kind_found != STRUCT || shape_found != ONE)) {
        PyErr_SetString(PyExc_ValueError, "only a single struct can be read from an empty message");
        return 0;
    }
    if (self->model != NULL && (field->offset = offset_in(self->model, attribute)) < 0)
        return 0;
    field->shape = (enum Shape)shape_found;
    field->kind = (enum Kind)kind_found;
    field->is_there = PyTuple_GET_SIZE(path) > 0;
    field->absence = (enum Absent)absence_found;
    if (!add_path(&self->root, path, self->count))
        return 0;
    field->convert = Py_NewRef(convert);
    field->absent = Py_NewRef(absent);
    self->count++;
    return 1;
}

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *model, *fields;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "StructReader takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OO!:StructReader", &model, &PyTuple_Type, &fields))
        return NULL;
    struct State *state = PyType_GetModuleState(type);
    if (state == NULL)
        return NULL;
    if (model != Py_None && !PyObject_TypeCheck(model, (PyTypeObject *)state->struct_meta)) {
        PyErr_SetString(PyExc_TypeError, "the model of a StructReader must be a subclass of Struct, or None");
        return NULL;
    }
    if (model != Py_None && !check_fields(model, fields))
        return NULL;
    Reader *self = (Reader *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    if (model != Py_None)
        self->model = (PyTypeObject *)Py_NewRef(model);
    Py_ssize_t count = PyTuple_GET_SIZE(fields);
    self->fields = PyMem_Calloc((size_t)count + 1, sizeof(struct Field));
    if (self->fields == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    while (self->count < count)
        if (!add_field(self, PyTuple_GET_ITEM(fields, self->count))) {
            Py_DECREF(self);
            return NULL;
        }
    return (PyObject *)self;
}

static int reader_traverse(PyObject *object, visitproc visit, void *arg)
{
    Reader *self = (Reader *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->model);
    for (Py_ssize_t index = 0; index < self->count; index++) {
        Py_VISIT(self->fields[index].convert);
        Py_VISIT(self->fields[index].settled);
        Py_VISIT(self->fields[index].absent);
    }
    return 0;
}

/* A cleared reader has no fields, so it cannot read anything. A ViewField needs no such function: its
   class releases it. */
static int reader_clear(PyObject *object)
{
    Reader *self = (Reader *)object;
    Py_ssize_t count = self->count;
    self->count = 0;
    free_level(&self->root);
    for (Py_ssize_t index = 0; index < count; index++) {
        Py_CLEAR(self->fields[index].convert);
        Py_CLEAR(self->fields[index].settled);
        Py_CLEAR(self->fields[index].absent);
    }
    Py_CLEAR(self->model);
    return 0;
}

static void reader_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    reader_clear(object);
    PyMem_Free(((Reader *)object)->fields);
    type->tp_free(object);
    Py_DECREF(type);
}

/* -- the module -------------------------------------------------------------------------------- */

static PyTypeObject *reader_type(PyObject *type)
{
    struct State *state = PyType_GetModuleState((PyTypeObject *)type);
    if (state != NULL && state->reader_type == NULL)
        PyErr_SetString(PyExc_RuntimeError, "the module was unloaded");
    return state == NULL ? NULL : (PyTypeObject *)state->reader_type;
}

static PyMethodDef reader_methods[] = {
    {"parts", reader_parts, METH_O,
     "parts(payload) -> the values of all fields of a message; None if its encoding is unusual"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot reader_slots[] = {
    {Py_tp_doc, "StructReader(model, fields): converts messages in the usual encoding to a model"},
    {Py_tp_new, (void *)reader_new},
    {Py_tp_methods, reader_methods},
    {Py_tp_traverse, (void *)reader_traverse},
    {Py_tp_clear, (void *)reader_clear},
    {Py_tp_dealloc, (void *)reader_dealloc},
    {0, NULL},
};

static PyType_Spec reader_spec = {
    .name = "kinform._native._structs.StructReader",
    .basicsize = sizeof(Reader),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = reader_slots,
};

static PyType_Slot view_field_slots[] = {
    {Py_tp_doc, "ViewField(reader, index, name, read, freeze): a field of views, read from their message"},
    {Py_tp_new, (void *)view_field_new},
    {Py_tp_descr_get, (void *)view_field_get},
    {Py_tp_traverse, (void *)view_field_traverse},
    {Py_tp_dealloc, (void *)view_field_dealloc},
    {0, NULL},
};

static PyType_Spec view_field_spec = {
    .name = "kinform._native._structs.ViewField",
    .basicsize = sizeof(ViewField),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = view_field_slots,
};

static PyType_Slot frozen_field_slots[] = {
    {Py_tp_doc, "FrozenField(member, freeze): a field of structs whose list or dict is read-only"},
    {Py_tp_new, (void *)frozen_field_new},
    {Py_tp_descr_get, (void *)frozen_field_get},
    {Py_tp_traverse, (void *)frozen_field_traverse},
    {Py_tp_dealloc, (void *)frozen_field_dealloc},
    {0, NULL},
};

static PyType_Spec frozen_field_spec = {
    .name = "kinform._native._structs.FrozenField",
    .basicsize = sizeof(FrozenField),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = frozen_field_slots,
};

/* Create a class of the module. Returns NULL with an error. */
static PyObject *add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type != NULL && PyModule_AddType(module, (PyTypeObject *)type) < 0)
        Py_CLEAR(type);
    return type;
}

static int begin(PyObject *module)
{
    struct State *state = PyModule_GetState(module);
    PyObject *msgspec = PyImport_ImportModule("msgspec");
    PyObject *base = msgspec == NULL ? NULL : PyObject_GetAttrString(msgspec, "Struct");
    Py_XDECREF(msgspec);
    if (base == NULL)
        return -1;
    state->struct_meta = Py_NewRef((PyObject *)Py_TYPE(base));
    Py_DECREF(base);
    if ((state->reader_type = add_type(module, &reader_spec)) == NULL ||
        (state->view_field_type = add_type(module, &view_field_spec)) == NULL ||
        (state->frozen_field_type = add_type(module, &frozen_field_spec)) == NULL)
        return -1;
    return 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    struct State *state = PyModule_GetState(module);
    Py_VISIT(state->struct_meta);
    Py_VISIT(state->reader_type);
    Py_VISIT(state->view_field_type);
    Py_VISIT(state->frozen_field_type);
    return 0;
}

static int clear(PyObject *module)
{
    struct State *state = PyModule_GetState(module);
    Py_CLEAR(state->struct_meta);
    Py_CLEAR(state->reader_type);
    Py_CLEAR(state->view_field_type);
    Py_CLEAR(state->frozen_field_type);
    return 0;
}

static void end(void *module)
{
    clear((PyObject *)module);
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
    .m_name = "kinform._native._structs",
    .m_doc = "Converts protobuf messages to the structs and views of models.",
    .m_size = sizeof(struct State),
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = end,
};

PyMODINIT_FUNC PyInit__structs(void)
{
    return PyModuleDef_Init(&definition);
}
