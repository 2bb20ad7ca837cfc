package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Every named type is visited once, which writes its row.
type walk struct {
	packages map[string]pkg
	types    map[string]named
	structs  map[string]structure
}

// The methods that the protobuf serializer requires of a message.
type message interface{ Marshal() ([]byte, error) }

var (
	marshaler   = reflect.TypeFor[json.Marshaler]()
	messageType = reflect.TypeFor[message]()
)

func newWalk() *walk {
	return &walk{map[string]pkg{}, map[string]named{}, map[string]structure{}}
}

func (w *walk) belongsTo(of reflect.Type, gv schema.GroupVersion) {
	id := shortName(of.PkgPath())
	known := w.packages[id]
	if known.Group != nil && (*known.Group != gv.Group || *known.Version != gv.Version) {
		fail("%s is in %s/%s and in %s", of.PkgPath(), *known.Group, *known.Version, gv)
	}
	w.packages[id] = pkg{id, of.PkgPath(), &gv.Group, &gv.Version}
}

// typeOf formats a type as Go does, with short package names and []byte as "bytes".
func (w *walk) typeOf(t reflect.Type) string {
	if t.PkgPath() != "" {
		return w.nameOf(t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + w.typeOf(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + w.typeOf(t.Elem())
	case reflect.Map:
		return "map[" + w.typeOf(t.Key()) + "]" + w.typeOf(t.Elem())
	case reflect.Interface:
		return "any"
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8,
		reflect.Float64:
		return t.Kind().String()
	}
	fail("the type %s is not supported", t)
	return ""
}

func (w *walk) nameOf(t reflect.Type) string {
	id := shortName(t.PkgPath())
	if known, found := w.packages[id]; !found {
		w.packages[id] = pkg{ID: id, Go: t.PkgPath()}
	} else if known.Go != t.PkgPath() {
		fail("two packages are called %s: %s and %s", id, known.Go, t.PkgPath())
	}
	name := id + "." + t.Name()
	isMessage := reflect.PointerTo(t).Implements(messageType)
	if t.Kind() != reflect.Struct {
		if _, found := w.types[name]; !found {
			w.types[name] = named{name, w.typeOf(unnamed(t)), isMessage}
		}
		return name
	}
	if _, found := w.structs[name]; !found {
		row := structure{ID: name, Custom: reflect.PointerTo(t).Implements(marshaler), Message: isMessage}
		w.structs[name] = row // before its fields: they may lead back here
		row.Fields = w.fieldsOf(t)
		if row.Custom {
			row.forgetJSON()
		}
		w.structs[name] = row
	}
	return name
}

// forgetJSON keeps only protobuf: Go code writes the JSON.
func (row *structure) forgetJSON() {
	for i := range row.Fields {
		f := &row.Fields[i]
		if f.Proto == "" {
			f.Proto = f.JSON
		}
		f.JSON, f.OmitEmpty, f.OmitZero = "", false, false
	}
}

// unnamed returns the underlying type of a named type that is not a struct.
func unnamed(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Slice:
		return reflect.SliceOf(t.Elem())
	case reflect.Map:
		return reflect.MapOf(t.Key(), t.Elem())
	case reflect.Interface:
		return reflect.TypeFor[any]()
	case reflect.Bool:
		return reflect.TypeFor[bool]()
	case reflect.String:
		return reflect.TypeFor[string]()
	case reflect.Int:
		return reflect.TypeFor[int]()
	case reflect.Int32:
		return reflect.TypeFor[int32]()
	case reflect.Int64:
		return reflect.TypeFor[int64]()
	}
	fail("the underlying type of %s is not supported", t)
	return nil
}

func (w *walk) table(kinds []kind) table {
	return table{
		Packages: sorted(w.packages),
		Kinds:    kinds,
		Types:    sorted(w.types),
		Structs:  sorted(w.structs),
	}
}

func sorted[T any](rows map[string]T) []T {
	result := make([]T, 0, len(rows))
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		result = append(result, rows[name])
	}
	return result
}
