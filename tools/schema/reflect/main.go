// Writes a JSON table of Go's types of the Kubernetes API.
//
// It walks everything that the schemes of client-go, apiextensions and kube-aggregator register,
// and every type that can be reached from there. It writes names, numbers and types, no
// descriptions. tools/schema/table.py describes the rows; a server adds the rest.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1beta1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"
)

type pkg struct {
	ID      string  `json:"id"`
	Go      string  `json:"go"`
	Group   *string `json:"group,omitempty"`
	Version *string `json:"version,omitempty"`
}

type kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Struct  string `json:"struct"`
}

type named struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Message bool   `json:"message,omitempty"`
}

type structure struct {
	ID      string  `json:"id"`
	Custom  bool    `json:"custom,omitempty"`
	Message bool    `json:"message,omitempty"`
	Fields  []field `json:"fields"`
}

type table struct {
	Packages []pkg       `json:"packages"`
	Kinds    []kind      `json:"kinds"`
	Types    []named     `json:"types"`
	Structs  []structure `json:"structs"`
}

var metaPackage = reflect.TypeFor[metav1.ObjectMeta]().PkgPath()

func main() {
	w := newWalk()
	kinds := w.kindsOf(everything())
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	if err := out.Encode(w.table(kinds)); err != nil {
		fail("cannot write: %v", err)
	}
}

func everything() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		kubernetes.AddToScheme,
		apiextensionsv1.AddToScheme,
		apiextensionsv1beta1.AddToScheme,
		apiregistrationv1.AddToScheme,
		apiregistrationv1beta1.AddToScheme,
		metav1.AddMetaToScheme,
	} {
		if err := add(scheme); err != nil {
			fail("cannot build the scheme: %v", err)
		}
	}
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	return scheme
}

func (w *walk) kindsOf(scheme *runtime.Scheme) []kind {
	kinds := []kind{}
	for gvk, of := range scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		// Every group registers ListOptions and the like; one row is enough. Kinds with the version
		// v1 on the wire, such as Status, keep it.
		isUnversioned, _ := scheme.IsUnversioned(reflect.New(of).Interface().(runtime.Object))
		if !isUnversioned {
			if of.PkgPath() == metaPackage && gvk.GroupVersion() != metav1.SchemeGroupVersion {
				continue
			}
			w.belongsTo(of, gvk.GroupVersion())
		}
		kinds = append(kinds, kind{gvk.Group, gvk.Version, gvk.Kind, w.typeOf(of)})
	}
	slices.SortFunc(kinds, func(a, b kind) int {
		return cmp.Or(
			cmp.Compare(a.Group, b.Group),
			cmp.Compare(a.Version, b.Version),
			cmp.Compare(a.Kind, b.Kind),
		)
	})
	return kinds
}

// shortName is how the table calls a package: core/v1, meta/v1, intstr, resource, types.
func shortName(path string) string {
	if _, rest, found := strings.Cut(path, "/apis/"); found {
		return rest
	}
	if rest, found := strings.CutPrefix(path, "k8s.io/api/"); found {
		return rest
	}
	return path[strings.LastIndex(path, "/")+1:]
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}
