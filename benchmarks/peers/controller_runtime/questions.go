package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// question is a get, which has a name, or a list.
type question struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Labels    string `json:"labels"`
	Fields    string `json:"fields"`
	Limit     int64  `json:"limit"`
}

func (p *peer) answer(do string, asked question) answer {
	kind, known := p.kinds[asked.Kind]
	if !known {
		must(fmt.Errorf("no kind %q; start names the kinds of questions", asked.Kind))
	}
	found, err := p.read(do, kind, asked)
	if err != nil {
		return answer{"error": class(err), "text": err.Error()}
	}
	return found
}

func (p *peer) read(do string, kind kindOption, asked question) (answer, error) {
	ctx := context.Background()
	if do == "get" {
		object := kind.object()
		key := client.ObjectKey{Namespace: asked.Namespace, Name: asked.Name}
		if err := p.cache.Get(ctx, key, object); err != nil {
			return nil, err
		}
		return answer{"key": versioned(object), "digest": digest(object)}, nil
	}
	options, err := listOptions(asked)
	if err != nil {
		return nil, err
	}
	list := kind.list()
	if err := p.cache.List(ctx, list, options); err != nil {
		return nil, err
	}
	keys := []string{}
	must(meta.EachListItem(list, func(item runtime.Object) error {
		keys = append(keys, versioned(item.(client.Object)))
		return nil
	}))
	slices.Sort(keys)
	return answer{"keys": keys, "version": list.GetResourceVersion(), "continue": list.GetContinue()}, nil
}

func listOptions(asked question) (*client.ListOptions, error) {
	options := &client.ListOptions{Namespace: asked.Namespace, Limit: asked.Limit}
	if asked.Labels != "" {
		selector, err := labels.Parse(asked.Labels)
		if err != nil {
			return nil, err
		}
		options.LabelSelector = selector
	}
	if asked.Fields != "" {
		selector, err := fields.ParseSelector(asked.Fields)
		if err != nil {
			return nil, err
		}
		options.FieldSelector = selector
	}
	return options, nil
}

// class names the kind of an error. Only two have a type; the others are known by their text.
func class(err error) string {
	var notCached *cache.ErrResourceNotCached
	var notStarted *cache.ErrCacheNotStarted
	text := strings.ToLower(err.Error())
	switch {
	case apierrors.IsNotFound(err):
		return "not found"
	case errors.As(err, &notCached):
		return "not cached"
	case errors.As(err, &notStarted):
		return "not started"
	case strings.Contains(text, "index with name"):
		return "not indexed"
	case strings.Contains(text, "unknown namespace for the cache"):
		return "outside"
	case strings.Contains(text, "non-exact field matches"):
		return "not exact"
	}
	return "other"
}

// versioned is "namespace/name@resourceVersion", or without a namespace.
func versioned(object client.Object) string {
	return strings.TrimPrefix(object.GetNamespace()+"/", "/") + object.GetName() + "@" + object.GetResourceVersion()
}

// digest is of the object's JSON with sorted keys and without spaces.
func digest(object client.Object) string {
	encoded, err := json.Marshal(object)
	must(err)
	var value any
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	must(decoder.Decode(&value))
	var sorted bytes.Buffer
	encoder := json.NewEncoder(&sorted)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(value))
	sum := sha256.Sum256(bytes.TrimSpace(sorted.Bytes()))
	return hex.EncodeToString(sum[:])
}
