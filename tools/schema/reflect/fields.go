package main

import (
	"cmp"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type field struct {
	JSON      string `json:"json,omitempty"`
	Go        string `json:"go"`
	Type      string `json:"type"`
	Inline    bool   `json:"inline,omitempty"`
	OmitEmpty bool   `json:"omitempty,omitempty"`
	OmitZero  bool   `json:"omitzero,omitempty"`
	Number    int    `json:"number,omitempty"`
	Wire      string `json:"wire,omitempty"`
	Repeated  bool   `json:"repeated,omitempty"`
	Proto     string `json:"proto,omitempty"`
}

func (w *walk) fieldsOf(t reflect.Type) []field {
	// These have no protobuf tags: their Marshal is written by hand.
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		t = reflect.TypeFor[metav1.Timestamp]()
	case reflect.TypeFor[resource.Quantity]():
		return quantity()
	}
	fields := []field{}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		row := w.fieldOf(f)
		// Neither JSON nor protobuf has it.
		if row.JSON == "" && !row.Inline && row.Number == 0 {
			continue
		}
		fields = append(fields, row)
	}
	return fields
}

func (w *walk) fieldOf(f reflect.StructField) field {
	row := field{Go: f.Name}
	tag := f.Tag.Get("json")
	name, options, _ := strings.Cut(tag, ",")
	row.Inline = f.Anonymous && name == ""
	if name != "-" && !row.Inline {
		row.JSON = name
	}
	for option := range strings.SplitSeq(options, ",") {
		row.OmitEmpty = row.OmitEmpty || option == "omitempty"
		row.OmitZero = row.OmitZero || option == "omitzero"
	}
	row.readProtobuf(f)
	if row.JSON != "" || row.Inline || row.Number != 0 {
		row.Type = w.typeOf(f.Type)
	}
	return row
}

// readProtobuf reads a tag like "bytes,1,rep,name=limits,casttype=ResourceList".
func (row *field) readProtobuf(f reflect.StructField) {
	tag := f.Tag.Get("protobuf")
	if tag == "" || tag == "-" {
		return
	}
	parts := strings.Split(tag, ",")
	number, err := strconv.Atoi(parts[1])
	if err != nil {
		fail("%s has no protobuf number in %q", f.Name, tag)
	}
	// The wire type in the tag is not always right: the generated code uses the Go type.
	row.Number, row.Wire, row.Repeated = number, wireOf(f.Type), isRepeated(f.Type)
	// The default name is the one in JSON, otherwise Go's with a lower-case first letter.
	name := cmp.Or(row.JSON, strings.ToLower(f.Name[:1])+f.Name[1:])
	for _, part := range parts[3:] {
		if given, found := strings.CutPrefix(part, "name="); found {
			name = given
		}
	}
	if name != row.JSON {
		row.Proto = name
	}
}

// isRepeated reports whether there is one record for each element; a map is a list of its entries.
func isRepeated(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Map:
		return true
	case reflect.Slice:
		// A named list can have its own message.
		return t.Elem().Kind() != reflect.Uint8 && !reflect.PointerTo(t).Implements(messageType)
	}
	return false
}

// wireOf returns the wire type of a value, or of each value of a list.
func wireOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		return "varint"
	case reflect.Float64:
		return "fixed64"
	case reflect.Pointer:
		return wireOf(t.Elem())
	case reflect.Slice:
		if isRepeated(t) {
			return wireOf(t.Elem())
		}
	}
	return "bytes"
}

func quantity() []field {
	one := resource.MustParse("1")
	if written, err := one.Marshal(); err != nil || string(written) != "\x0a\x011" {
		fail("a quantity is no longer a message with its text as field 1")
	}
	return []field{{Go: "string", Type: "string", Number: 1, Wire: "bytes", Proto: "string"}}
}
