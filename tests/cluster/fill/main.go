// Seeds in; objects of every kind of the Kubernetes API out, each filled at random, a line each.
//
// A line has the object as JSON, as protobuf, and as JSON again after a way through protobuf: what
// the first has and the last has not, protobuf cannot say.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type filled struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	JSON       json.RawMessage `json:"json"`
	Protobuf   []byte          `json:"protobuf"`
	Again      json.RawMessage `json:"again"`
}

func main() {
	out := json.NewEncoder(os.Stdout)
	scheme := everything()
	binary := protobuf.NewSerializer(scheme, scheme)
	for _, argument := range os.Args[1:] {
		seed, err := strconv.ParseUint(argument, 10, 64)
		check(err)
		for _, gvk := range kindsOf(scheme) {
			for _, fill := range fillers(seed, gvk.String()) {
				line, err := forms(scheme, binary, gvk, fill)
				check(err)
				if line != nil {
					check(out.Encode(line))
				}
			}
		}
	}
}

func everything() *runtime.Scheme {
	scheme := runtime.NewScheme()
	check(kubernetes.AddToScheme(scheme))
	check(apiextensionsv1.AddToScheme(scheme))
	check(apiregistrationv1.AddToScheme(scheme))
	check(metav1.AddMetaToScheme(scheme))
	return scheme
}

// kindsOf is every kind that is an object: lists and the parameters of requests are none.
func kindsOf(scheme *runtime.Scheme) []schema.GroupVersionKind {
	meta := reflect.TypeFor[metav1.ObjectMeta]().PkgPath()
	kinds := []schema.GroupVersionKind{}
	for gvk, of := range scheme.AllKnownTypes() {
		isList := strings.HasSuffix(gvk.Kind, "List")
		isObject := of.PkgPath() != meta || gvk.Kind == "PartialObjectMetadata"
		if gvk.Version != runtime.APIVersionInternal && !isList && isObject {
			kinds = append(kinds, gvk)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int {
		return cmp.Compare(a.String(), b.String())
	})
	return kinds
}

// forms is nil for a kind that has no protobuf.
func forms(
	scheme *runtime.Scheme, binary *protobuf.Serializer, gvk schema.GroupVersionKind, f *filler,
) (*filled, error) {
	obj, err := scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	if _, isMessage := obj.(interface{ Marshal() ([]byte, error) }); !isMessage {
		return nil, nil
	}
	f.fill(reflect.ValueOf(obj).Elem(), 0)
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("%s as JSON: %w", gvk, err)
	}
	var message bytes.Buffer
	if err := binary.Encode(obj, &message); err != nil {
		return nil, fmt.Errorf("%s as protobuf: %w", gvk, err)
	}
	decoded, _, err := binary.Decode(message.Bytes(), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("%s from protobuf: %w", gvk, err)
	}
	decoded.GetObjectKind().SetGroupVersionKind(gvk)
	again, err := json.Marshal(decoded)
	if err != nil {
		return nil, fmt.Errorf("%s as JSON again: %w", gvk, err)
	}
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	return &filled{apiVersion, kind, text, message.Bytes(), again}, nil
}

func fillers(seed uint64, name string) []*filler {
	made := []*filler{}
	// From hardly anything to nearly everything.
	for number, share := range []float64{0, 0.1, 0.5, 0.9} {
		source := rand.NewPCG(seed, uint64(number)<<32|uint64(hash(name)))
		made = append(made, &filler{rand.New(source), share})
	}
	return made
}

func hash(text string) uint32 {
	sum := uint32(2166136261)
	for _, each := range []byte(text) {
		sum = (sum ^ uint32(each)) * 16777619
	}
	return sum
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
