package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A schema may contain itself for ever.
const deepest = 14

// filler fills values at random. share is how many of them get anything at all; what is left is
// nil, or as empty as it can be without being nil.
type filler struct {
	*rand.Rand
	share float64
}

var texts = []string{"a", "web-0", "ÄÖ ü", "<a href=\"x\">&amp;", "line\nline\t\\", "\u2028\u0085", "0", "null", "😀"}
var documents = []string{`{}`, `{"a":1}`, `{"a":{"b":[1,"x",null,true,1.5]}}`, `[]`, `"text"`, `7`, `false`}
var amounts = []string{"0", "1", "500m", "1Gi", "1e3", "0.5", "-2", "12345678901234567890", "100u"}
var numbers = []int64{1, -1, 7, 80, 1 << 30, math.MaxInt32, math.MinInt32}

func (f *filler) fill(v reflect.Value, depth int) {
	if f.fillCustom(v, depth) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "TypeMeta" || depth > 0 {
				f.fill(v.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		if f.isFull(depth) {
			v.Set(reflect.New(v.Type().Elem()))
			_, isOwned := v.Interface().(*metav1.FieldsV1)
			if isOwned || f.IntN(4) > 0 {
				f.fill(v.Elem(), depth+1)
			}
		}
	case reflect.Slice:
		f.fillSlice(v, depth)
	case reflect.Map:
		f.fillMap(v, depth)
	default:
		if f.isFull(0) {
			f.fillScalar(v)
		}
	}
}

func (f *filler) isFull(depth int) bool {
	return depth < deepest && f.Float64() < f.share
}

func (f *filler) fillSlice(v reflect.Value, depth int) {
	if !f.isFull(depth) {
		if f.IntN(2) == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		return
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		v.SetBytes([]byte{0, 255, byte(f.IntN(256))}[:1+f.IntN(3)])
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 2))
	for range 1 + f.IntN(2) {
		element := reflect.New(v.Type().Elem()).Elem()
		if element.Kind() == reflect.Pointer {
			element.Set(reflect.New(element.Type().Elem()))
			f.fill(element.Elem(), depth+1)
		} else {
			f.fill(element, depth+1)
		}
		v.Set(reflect.Append(v, element))
	}
}

func (f *filler) fillMap(v reflect.Value, depth int) {
	if !f.isFull(depth) {
		if f.IntN(2) == 0 {
			v.Set(reflect.MakeMap(v.Type()))
		}
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for number := range 1 + f.IntN(2) {
		key := reflect.New(v.Type().Key()).Elem()
		key.SetString(fmt.Sprintf("%s%d", texts[f.IntN(len(texts))], number))
		element := reflect.New(v.Type().Elem()).Elem()
		f.fill(element, depth+1)
		v.SetMapIndex(key, element)
	}
}

func (f *filler) fillScalar(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts[f.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32:
		v.SetInt(numbers[f.IntN(len(numbers))])
	case reflect.Int64:
		v.SetInt(append(numbers, math.MaxInt64, math.MinInt64)[f.IntN(len(numbers)+2)])
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.IntN(256)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{1, -1.5, 0.1, 1e21, 1e-7, 3e9}[f.IntN(6)])
	case reflect.Interface:
	default:
		panic(fmt.Sprintf("there is nothing to fill a %s with", v.Type()))
	}
}

func (f *filler) fillCustom(v reflect.Value, depth int) bool {
	full := f.isFull(depth)
	switch value := v.Addr().Interface().(type) {
	case *metav1.Time:
		if full {
			value.Time = f.moment()
		}
	case *metav1.MicroTime:
		if full {
			value.Time = f.moment()
		}
	case *resource.Quantity:
		if full {
			*value = resource.MustParse(amounts[f.IntN(len(amounts))])
		}
	case *intstr.IntOrString:
		if full && f.IntN(2) == 0 {
			*value = intstr.FromString("50%")
		} else if full {
			*value = intstr.FromInt32(int32(f.IntN(100)))
		}
	case *metav1.FieldsV1:
		// No server writes one of no bytes.
		value.SetRawBytes([]byte(`{"f:metadata":{"f:name":{}}}`))
	case *runtime.RawExtension:
		if full {
			value.Raw = []byte(documents[f.IntN(len(documents))])
		}
	case *apiextensionsv1.JSON:
		// One of no bytes at all does not go into JSON.
		value.Raw = []byte(documents[f.IntN(len(documents))])
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		if full && f.IntN(2) == 0 {
			value.JSONSchemas = make([]apiextensionsv1.JSONSchemaProps, 2)
			f.fill(reflect.ValueOf(&value.JSONSchemas[1]).Elem(), depth+1)
		} else {
			value.Schema = &apiextensionsv1.JSONSchemaProps{}
			f.fill(reflect.ValueOf(value.Schema).Elem(), depth+1)
		}
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		value.Allows = f.IntN(2) == 0
		if full {
			value.Allows, value.Schema = true, &apiextensionsv1.JSONSchemaProps{}
			f.fill(reflect.ValueOf(value.Schema).Elem(), depth+1)
		}
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		if full && f.IntN(2) == 0 {
			value.Property = []string{"a", ""}
		} else {
			value.Schema = &apiextensionsv1.JSONSchemaProps{}
			f.fill(reflect.ValueOf(value.Schema).Elem(), depth+1)
		}
	default:
		return false
	}
	return true
}

func (f *filler) moment() time.Time {
	seconds := []int64{0, 1, -1, 1700000000, 253402300799, -62135596799}[f.IntN(6)]
	return time.Unix(seconds, int64(f.IntN(2))*123456789).UTC()
}
