package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// benchOptions say how many calls make a batch. Pods have to be cached, and indexed by node.
type benchOptions struct {
	Batches      int  `json:"batches"`
	Gets         int  `json:"gets"`
	ListsByField int  `json:"lists_by_field"`
	Lists        int  `json:"lists"`
	NoCopy       bool `json:"no_copy"`
}

const nodeField = "spec.nodeName"

// figures are the medians of the batches, in nanoseconds of one call.
type figures struct {
	Wall float64 `json:"wall"`
	CPU  float64 `json:"cpu"` // with the collector of garbage, which runs beside
}

// read is what "two fields" are read into, so that the compiler keeps the reads.
var read int

func readTwo(pod *corev1.Pod) {
	read += len(pod.Status.Phase) + len(pod.Spec.NodeName)
}

func (p *peer) bench(given benchOptions) answer {
	ctx := context.Background()
	var all corev1.PodList
	must(p.cache.List(ctx, &all, client.UnsafeDisableDeepCopy))
	var keys []client.ObjectKey
	found := map[string]int{}
	for _, pod := range all.Items {
		keys = append(keys, client.ObjectKeyFromObject(&pod))
		found[pod.Spec.NodeName]++
	}
	all = corev1.PodList{}
	var nodes []string
	for node := range found {
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)

	var getOptions []client.GetOption
	var listOptions []client.ListOption
	if given.NoCopy {
		getOptions = append(getOptions, client.UnsafeDisableDeepCopy)
		listOptions = append(listOptions, client.UnsafeDisableDeepCopy)
	}
	random := rand.New(rand.NewPCG(19, 19))
	get := func(reads bool) {
		var pod corev1.Pod
		must(p.cache.Get(ctx, keys[random.IntN(len(keys))], &pod, getOptions...))
		if reads {
			readTwo(&pod)
		}
	}
	list := func(reads bool, more ...client.ListOption) {
		var pods corev1.PodList
		must(p.cache.List(ctx, &pods, append(more, listOptions...)...))
		if reads {
			for index := range pods.Items {
				readTwo(&pods.Items[index])
			}
		}
	}
	byField := func(reads bool) {
		list(reads, client.MatchingFields{nodeField: nodes[random.IntN(len(nodes))]})
	}
	listAll := func(reads bool) { list(reads) }

	record := answer{"objects": len(keys), "by_field_objects": float64(len(keys)) / float64(len(nodes))}
	for _, each := range []struct {
		name  string
		calls int
		call  func(reads bool)
	}{
		{"get", given.Gets, get},
		{"by_field", given.ListsByField, byField},
		{"list", given.Lists, listAll},
	} {
		record[each.name] = measure(given.Batches, each.calls, func() { each.call(false) })
		record[each.name+"_read"] = measure(given.Batches, each.calls, func() { each.call(true) })
	}
	record["rest"] = memory("VmRSS")
	record["peak"] = memory("VmHWM")
	return record
}

// measure leaves the first batch out: the heap grows in it, and new pages have to be mapped.
func measure(batches, calls int, call func()) figures {
	var walls, cpus []float64
	for range calls {
		call()
	}
	for range batches {
		began, used := time.Now(), cpu()
		for range calls {
			call()
		}
		walls = append(walls, float64(time.Since(began).Nanoseconds())/float64(calls))
		cpus = append(cpus, (cpu()-used)*1e9/float64(calls))
	}
	return figures{Wall: median(walls), CPU: median(cpus)}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
