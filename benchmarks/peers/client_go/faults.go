// Mode "faults": informers that log every handler call, for the benchmark behind a faulty network.
//
// It prints "synced" after the initial sync, "current" once every namespace's sentinel object was
// added, and ends at the line "stop" with its cache and the CPU seconds since the sync. A line of
// the log is
//
//	<CLOCK_MONOTONIC ns> <A|U|D|X> <namespace>/<name> <resourceVersion>
//
// where X is a deletion that a list noticed: its version is the last one known.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// eventLog writes handler calls to a file, from the goroutines of all informers.
type eventLog struct {
	mutex     sync.Mutex
	file      *bufio.Writer
	sentinel  string
	sentinels int // not yet added
}

func (l *eventLog) write(kind byte, object any) {
	now := monotonic()
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		kind, object = 'X', unknown.Obj
	}
	accessor, err := meta.Accessor(object)
	must(err)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	fmt.Fprintf(l.file, "%d %c %s/%s %s\n",
		now, kind, accessor.GetNamespace(), accessor.GetName(), accessor.GetResourceVersion())
	if kind == 'A' && accessor.GetName() == l.sentinel {
		if l.sentinels--; l.sentinels == 0 {
			fmt.Println("current")
		}
	}
}

func (l *eventLog) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(added any) { l.write('A', added) },
		UpdateFunc: func(_, changed any) { l.write('U', changed) },
		DeleteFunc: func(deleted any) { l.write('D', deleted) },
	}
}

// runFaults follows one resource with one informer, or with one per namespace.
func runFaults(config *rest.Config, given parameters) map[string]any {
	file, err := os.Create(given.Log)
	must(err)
	log := &eventLog{
		file:      bufio.NewWriterSize(file, 1<<20),
		sentinel:  given.Sentinel,
		sentinels: given.Sentinels,
	}
	config.UserAgent = given.UserAgent
	// No rate limiter on the client's side, as in controller-runtime: it would delay 20 informers.
	config.QPS = -1
	namespaces := given.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	resource := schema.GroupVersionResource{Version: "v1", Resource: given.Resource}
	var running []cache.SharedIndexInformer
	var registrations []cache.InformerSynced
	for _, informer := range newInformers(config, given.Form, resource, namespaces) {
		registration, err := informer.AddEventHandler(log.handler())
		must(err)
		registrations = append(registrations, registration.HasSynced)
		running = append(running, informer)
		go informer.Run(context.Background().Done())
	}
	for _, synced := range registrations {
		for !synced() {
			time.Sleep(time.Millisecond)
		}
	}
	before := cpu()
	fmt.Println("synced")
	bufio.NewScanner(os.Stdin).Scan()
	record := map[string]any{"cpu": cpu() - before, "cache": cached(running)}
	log.mutex.Lock() // held until the end: nothing is written after the flush
	must(log.file.Flush())
	return record
}

// newInformers shares one client among the informers.
func newInformers(
	config *rest.Config, form string, resource schema.GroupVersionResource, namespaces []string,
) []cache.SharedIndexInformer {
	var made []cache.SharedIndexInformer
	switch form {
	case "typed":
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = config.ContentType
		client, err := kubernetes.NewForConfig(config)
		must(err)
		for _, namespace := range namespaces {
			option := informers.WithNamespace(namespace)
			factory := informers.NewSharedInformerFactoryWithOptions(client, 0, option)
			generic, err := factory.ForResource(resource)
			must(err)
			made = append(made, generic.Informer())
		}
	case "dynamic":
		client, err := dynamic.NewForConfig(config)
		must(err)
		for _, namespace := range namespaces {
			factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
			made = append(made, factory.ForResource(resource).Informer())
		}
	default:
		must(fmt.Errorf("no form %q; there are typed and dynamic", form))
	}
	return made
}

func cached(running []cache.SharedIndexInformer) map[string]string {
	versions := map[string]string{}
	for _, informer := range running {
		for _, object := range informer.GetStore().List() {
			accessor, err := meta.Accessor(object)
			must(err)
			key := accessor.GetNamespace() + "/" + accessor.GetName()
			versions[key] = accessor.GetResourceVersion()
		}
	}
	return versions
}
