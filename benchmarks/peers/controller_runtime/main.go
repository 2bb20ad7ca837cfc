// Uses controller-runtime as told on standard input: a JSON object per line in, one out. Its cache:
//
//	{"do": "start", "kubeconfig": "...", "kinds": [{"kind": "Pod", "version": "v1", "indexes": ["spec.nodeName"]}]}
//	{"do": "get", "kind": "Pod", "namespace": "default", "name": "web-1"}
//	{"do": "list", "kind": "Pod", "labels": "app=web", "fields": "spec.nodeName=node-1", "limit": 10}
//	{"do": "bench", "batches": 5, "gets": 50000, "lists_by_field": 1000, "lists": 2}
//	{"do": "collect"}
//
// start.go creates the cache, questions.go answers get and list, bench.go measures them. "collect"
// returns unused memory to the system. A controller, instead of the cache:
//
//	{"do": "reconcile", "kubeconfig": "...", "objects": 20000, "workers": 4, "reads": "pod", "fails": 0, "stamps": true}
//	{"do": "idle", "seconds": 10}
//	{"do": "open"}
//	{"do": "close", "changes": 3000}
//
// reconcile.go runs it, window.go measures the delays of changes. The program ends with its input.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// answer is what a line of input is answered with.
type answer map[string]any

func main() {
	log.SetLogger(logr.Discard())
	var started *peer
	var controller *running
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var command struct {
			Do string `json:"do"`
		}
		must(json.Unmarshal(lines.Bytes(), &command))
		switch command.Do {
		case "start":
			var given startOptions
			must(json.Unmarshal(lines.Bytes(), &given))
			peer, record := start(given)
			started = peer
			must(out.Encode(record))
		case "get", "list":
			var asked question
			must(json.Unmarshal(lines.Bytes(), &asked))
			must(out.Encode(started.answer(command.Do, asked)))
		case "bench":
			var given benchOptions
			must(json.Unmarshal(lines.Bytes(), &given))
			must(out.Encode(started.bench(given)))
		case "collect":
			debug.FreeOSMemory() // collects garbage first
			must(out.Encode(answer{"rest": memory("VmRSS")}))
		case "reconcile":
			var given reconcileOptions
			must(json.Unmarshal(lines.Bytes(), &given))
			running, record := reconcilePods(given)
			controller = running
			must(out.Encode(record))
		case "idle":
			var given idleOptions
			must(json.Unmarshal(lines.Bytes(), &given))
			must(out.Encode(idle(given)))
		case "open":
			must(out.Encode(controller.window.open()))
		case "close":
			var given closeOptions
			must(json.Unmarshal(lines.Bytes(), &given))
			must(out.Encode(controller.window.close(given)))
		default:
			must(fmt.Errorf(
				"no command %q; there are start, get, list, bench, collect, reconcile, idle, open, close",
				command.Do,
			))
		}
	}
	must(lines.Err())
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
