/* Shared by all C readers: checks of arguments, and the varints of protobuf. */

#ifndef KINFORM_WIRE_H
#define KINFORM_WIRE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

typedef const unsigned char *Bytes;

/* Read a position in an input of this length. Returns 0 with an error. */
static inline int read_position(PyObject *number, Py_ssize_t longest, Py_ssize_t *position)
{
    *position = PyLong_AsSsize_t(number);
    if (*position == -1 && PyErr_Occurred())
        return 0;
    if (*position < 0 || *position > longest) {
        PyErr_Format(PyExc_ValueError, "%zd is not between 0 and %zd", *position, longest);
        return 0;
    }
    return 1;
}

static inline int check_bytes(PyObject *object)
{
    if (PyBytes_Check(object))
        return 1;
    PyErr_Format(PyExc_TypeError, "expected bytes, got %s", Py_TYPE(object)->tp_name);
    return 0;
}

/* Clear an error about malformed content: the Python code reads the same bytes and reports it in
   detail. Returns 0 for all other errors, such as KeyboardInterrupt, which propagate. */
static inline int clear_content_error(void)
{
    if (!PyErr_Occurred())
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_OverflowError) &&
        !PyErr_ExceptionMatches(PyExc_RecursionError))
        return 0;
    PyErr_Clear();
    return 1;
}

/* Read a varint. Returns the position after it; NULL if it is longer than 64 bits or incomplete. */
static inline Bytes read_number(Bytes at, Bytes end, uint64_t *number)
{
    uint64_t value = 0;
    for (int shift = 0; at < end && shift < 64; shift += 7) {
        unsigned char byte = *at++;
        if (shift == 63 && byte > 1)
            return NULL;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *number = value;
            return at;
        }
    }
    return NULL;
}

/* The same for tags and sizes, which have at most 32 bits. */
static inline Bytes read_short(Bytes at, Bytes end, uint64_t *number)
{
    Bytes after = read_number(at, end, number);
    return after != NULL && after - at <= 5 && *number <= UINT32_MAX ? after : NULL;
}

/* Read a size. Returns the position after it; NULL if the input has fewer bytes than that. */
static inline Bytes read_size(Bytes at, Bytes end, Py_ssize_t *size)
{
    uint64_t number;
    at = read_short(at, end, &number);
    if (at == NULL || number > (uint64_t)(end - at))
        return NULL;
    *size = (Py_ssize_t)number;
    return at;
}

/* Read a tag and a size. Returns the content; NULL unless it ends exactly at the end. */
static inline Bytes read_last(Bytes at, Bytes end, unsigned char tag)
{
    Py_ssize_t size;
    if (at == NULL || at >= end || *at != tag)
        return NULL;
    at = read_size(at + 1, end, &size);
    return at != NULL && end - at == size ? at : NULL;
}

/* Read the seconds since 1970 from a time message in the usual encoding: seconds, then nanoseconds,
   which are ignored. Returns 0 for any other encoding. */
static inline int read_seconds(Bytes at, Bytes end, uint64_t *seconds)
{
    uint64_t nanoseconds;
    if (at == end || *at != 0x08 || (at = read_number(at + 1, end, seconds)) == NULL)
        return 0;
    if (at < end && (*at != 0x10 || (at = read_number(at + 1, end, &nanoseconds)) == NULL))
        return 0;
    return at == end && *seconds > 0 && *seconds <= INT64_MAX;
}

#endif
