/* What all who read bytes in C need: arguments, and the numbers of protobuf. */

#ifndef KINFORM_WIRE_H
#define KINFORM_WIRE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

typedef const unsigned char *Bytes;

/* A position inside of something that long. */
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
    PyErr_Format(PyExc_TypeError, "bytes, please, and not a %s", Py_TYPE(object)->tp_name);
    return 0;
}

/* Forget an error about what is in the bytes: Python will find it again, and tell it better. Others,
   as those of a signal or of a mistake, are to be passed on. */
static inline int is_forgotten(void)
{
    if (!PyErr_Occurred())
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_OverflowError) &&
        !PyErr_ExceptionMatches(PyExc_RecursionError))
        return 0;
    PyErr_Clear();
    return 1;
}

/* Behind the number at the place; NULL if it is longer than numbers are, or not all there. */
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

/* The same for tags and sizes, which have no more bytes than 32 bits need. */
static inline Bytes read_short(Bytes at, Bytes end, uint64_t *number)
{
    Bytes behind = read_number(at, end, number);
    return behind != NULL && behind - at <= 5 && *number <= UINT32_MAX ? behind : NULL;
}

/* Behind a size at the place, if there is as much as it says. */
static inline Bytes read_size(Bytes at, Bytes end, Py_ssize_t *size)
{
    uint64_t number;
    at = read_short(at, end, &number);
    if (at == NULL || number > (uint64_t)(end - at))
        return NULL;
    *size = (Py_ssize_t)number;
    return at;
}

/* What stands behind this byte and a size, if it reaches exactly to the end. */
static inline Bytes read_last(Bytes at, Bytes end, unsigned char tag)
{
    Py_ssize_t size;
    if (at == NULL || at >= end || *at != tag)
        return NULL;
    at = read_size(at + 1, end, &size);
    return at != NULL && end - at == size ? at : NULL;
}

/* The seconds after 1970 in the message of a time, as servers write it: whole ones, and nanoseconds
   that nobody shows. 0 if it is not usual. */
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
