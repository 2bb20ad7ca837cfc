package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type startOptions struct {
	Kubeconfig   string       `json:"kubeconfig"`
	Kinds        []kindOption `json:"kinds"`
	Namespaces   []string     `json:"namespaces"`    // of all kinds that do not name their own; none: all
	DeclaredOnly bool         `json:"declared_only"` // reads of other kinds fail
	Rest         float64      `json:"rest"`          // seconds to wait before memory is read again
}

// kindOption is a kind that questions may be about.
type kindOption struct {
	Group        string   `json:"group"`
	Version      string   `json:"version"`
	Kind         string   `json:"kind"`
	Unstructured bool     `json:"unstructured"`
	Undeclared   bool     `json:"undeclared"` // gets no informer at the start
	Namespaces   []string `json:"namespaces"`
	Labels       string   `json:"labels"`
	Fields       string   `json:"fields"`
	Indexes      []string `json:"indexes"`
}

func (k kindOption) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

func (k kindOption) object() client.Object {
	if k.Unstructured {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(k.gvk())
		return object
	}
	object, err := scheme.Scheme.New(k.gvk())
	must(err)
	return object.(client.Object)
}

func (k kindOption) list() client.ObjectList {
	gvk := k.gvk()
	gvk.Kind += "List"
	if k.Unstructured {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		return list
	}
	list, err := scheme.Scheme.New(gvk)
	must(err)
	return list.(client.ObjectList)
}

func (k kindOption) options() cache.ByObject {
	var options cache.ByObject
	if len(k.Namespaces) > 0 {
		options.Namespaces = configs(k.Namespaces)
	}
	if k.Labels != "" {
		selector, err := labels.Parse(k.Labels)
		must(err)
		options.Label = selector
	}
	if k.Fields != "" {
		selector, err := fields.ParseSelector(k.Fields)
		must(err)
		options.Field = selector
	}
	return options
}

// peer is a cache that has synced, and the kinds by name.
type peer struct {
	cache cache.Cache
	kinds map[string]kindOption
}

func start(given startOptions) (*peer, answer) {
	config, err := clientcmd.BuildConfigFromFlags("", given.Kubeconfig)
	must(err)
	options := cache.Options{
		DefaultNamespaces:           configs(given.Namespaces),
		ReaderFailOnMissingInformer: given.DeclaredOnly,
		ByObject:                    map[client.Object]cache.ByObject{},
	}
	kinds := map[string]kindOption{}
	for _, kind := range given.Kinds {
		kinds[kind.Kind] = kind
		options.ByObject[kind.object()] = kind.options()
	}
	began := time.Now()
	made, err := cache.New(config, options)
	must(err)
	ctx := context.Background()
	for _, kind := range given.Kinds {
		if kind.Undeclared {
			continue
		}
		_, err := made.GetInformer(ctx, kind.object())
		must(err)
		for _, field := range kind.Indexes {
			must(made.IndexField(ctx, kind.object(), field, extractor(field)))
		}
	}
	go func() { must(made.Start(ctx)) }()
	if !made.WaitForCacheSync(ctx) {
		must(fmt.Errorf("the cache did not sync"))
	}
	record := answer{"sync": time.Since(began).Seconds(), "sync_cpu": cpu(), "synced": memory("VmRSS")}
	time.Sleep(time.Duration(given.Rest * float64(time.Second)))
	record["rest"] = memory("VmRSS")
	record["peak"] = memory("VmHWM")
	return &peer{cache: made, kinds: kinds}, record
}

func configs(namespaces []string) map[string]cache.Config {
	if len(namespaces) == 0 {
		return nil
	}
	made := map[string]cache.Config{}
	for _, namespace := range namespaces {
		made[namespace] = cache.Config{}
	}
	return made
}

// extractor returns the values of a field, as a user of IndexField would write it.
func extractor(field string) client.IndexerFunc {
	return func(object client.Object) []string {
		switch object := object.(type) {
		case *corev1.Pod:
			return podValues(object, field)
		case *corev1.ConfigMap:
			return []string{object.Data[strings.TrimPrefix(field, "data.")]}
		case *unstructured.Unstructured:
			value, _, err := unstructured.NestedString(object.Object, strings.Split(field, ".")...)
			must(err)
			return []string{value}
		}
		must(fmt.Errorf("no index of %q for %T", field, object))
		return nil
	}
}

func podValues(pod *corev1.Pod, field string) []string {
	switch field {
	case "spec.nodeName":
		return []string{pod.Spec.NodeName}
	case "status.phase":
		return []string{string(pod.Status.Phase)}
	case "images":
		var images []string
		for _, container := range pod.Spec.Containers {
			images = append(images, container.Image)
		}
		return images
	}
	must(fmt.Errorf("no index of %q for pods", field))
	return nil
}
