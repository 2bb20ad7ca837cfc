// A kubeconfig and a mode in, one JSON line about an informer of all pods out.
//
//	client-go '{"kubeconfig": "...", "mode": "sync", "content": "protobuf", "objects": 20000}'
//
// Modes: "sync" ends some seconds after the initial sync; "steady" says "synced", then counts
// the changes between the lines "go" and "stop" on its standard input; "bare" is no informer, it
// reads the bytes of a watch and looks for the stamps in them: what any client has to wait for;
// "faults" is in faults.go.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type parameters struct {
	Kubeconfig string  `json:"kubeconfig"`
	Mode       string  `json:"mode"`
	Content    string  `json:"content"`
	Objects    int64   `json:"objects"`
	Stamp      string  `json:"stamp"`   // the label that holds when a change was written
	Started    int64   `json:"started"` // when this process was started, in ns of CLOCK_MONOTONIC
	Rest       float64 `json:"rest"`    // seconds to wait before memory is read

	// Of mode "faults".
	Form       string   `json:"form"`       // "typed" or "dynamic"
	Resource   string   `json:"resource"`   // a resource of core/v1
	Namespaces []string `json:"namespaces"` // one informer each; empty: one informer of all
	UserAgent  string   `json:"user_agent"`
	Log        string   `json:"log"`       // the file of handler calls
	Sentinel   string   `json:"sentinel"`  // the name of the last object that is created
	Sentinels  int      `json:"sentinels"` // in how many namespaces it is created
}

// window holds what is counted between "go" and "stop".
type window struct {
	mutex   sync.Mutex
	open    bool
	delays  []int64
	missing int
}

func (w *window) note(stamp string) {
	now := monotonic()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if !w.open {
		return
	}
	written, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		w.missing++
		return
	}
	w.delays = append(w.delays, (now-written)/1000)
}

func (w *window) set(open bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.open = open
}

func main() {
	var given parameters
	must(json.Unmarshal([]byte(os.Args[1]), &given))
	config, err := clientcmd.BuildConfigFromFlags("", given.Kubeconfig)
	must(err)
	if given.Mode == "faults" {
		must(json.NewEncoder(os.Stdout).Encode(runFaults(config, given)))
		return
	}
	watched := &window{}
	if given.Mode == "bare" {
		go readBare(config, given.Stamp, watched)
	} else {
		syncInformer(config, given, watched)
	}
	record := map[string]any{
		"objects":   given.Objects,
		"cpu":       cpu(),
		"work_wall": float64(monotonic()-given.Started) / 1e9,
	}
	if given.Mode == "sync" {
		time.Sleep(time.Duration(given.Rest * float64(time.Second)))
		record["rested_cpu"] = cpu()
	} else {
		steady(watched, record)
	}
	record["rest"] = memory("VmRSS")
	record["peak"] = memory("VmHWM")
	must(json.NewEncoder(os.Stdout).Encode(record))
}

// syncInformer returns when the handler has had every object.
func syncInformer(config *rest.Config, given parameters, watched *window) {
	// A clientset that is told nothing asks for protobuf, too.
	config.ContentType = map[string]string{
		"protobuf": "application/vnd.kubernetes.protobuf",
		"json":     "application/json",
	}[given.Content]
	config.AcceptContentTypes = config.ContentType
	client, err := kubernetes.NewForConfig(config)
	must(err)
	factory := informers.NewSharedInformerFactory(client, 0)
	var added atomic.Int64
	registration, err := factory.Core().V1().Pods().Informer().AddEventHandler(
		cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { added.Add(1) },
			UpdateFunc: func(_, changed any) {
				watched.note(changed.(*corev1.Pod).Labels[given.Stamp])
			},
		},
	)
	must(err)
	factory.Start(context.Background().Done())
	for !registration.HasSynced() || added.Load() < given.Objects {
		time.Sleep(time.Millisecond)
	}
}

// steady lets the harness say when the changes begin and when they are over.
func steady(watched *window, record map[string]any) {
	commands := bufio.NewScanner(os.Stdin)
	fmt.Println("synced")
	commands.Scan()
	watched.set(true)
	before := cpu()
	commands.Scan()
	record["window_cpu"] = cpu() - before
	watched.set(false)
	record["delays"] = watched.delays
	record["missing"] = watched.missing
}

// readBare watches from now on, without decoding anything. When the server ends the stream, it
// begins anew, and what was written in between is lost to it.
func readBare(config *rest.Config, stamp string, watched *window) {
	client, err := rest.HTTPClientFor(config)
	must(err)
	for {
		err := readWatch(client, config.Host+"/api/v1/pods", []byte(`"`+stamp+`":"`), watched)
		fmt.Fprintln(os.Stderr, err)
	}
}

func readWatch(client *http.Client, pods string, label []byte, watched *window) error {
	var newest struct {
		Metadata struct{ ResourceVersion string }
	}
	answer, err := client.Get(pods + "?limit=1")
	must(err)
	must(json.NewDecoder(answer.Body).Decode(&newest))
	answer, err = client.Get(pods + "?watch=true&resourceVersion=" + newest.Metadata.ResourceVersion)
	must(err)
	defer answer.Body.Close()
	lines := bufio.NewReaderSize(answer.Body, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		at := bytes.Index(line, label)
		if at < 0 {
			fmt.Fprintf(os.Stderr, "%.500s\n", line)
			continue
		}
		value := line[at+len(label):]
		watched.note(string(value[:bytes.IndexByte(value, '"')]))
	}
}

func monotonic() int64 {
	var now unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	return now.Nano()
}

func cpu() float64 {
	var used syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// memory reads a line of /proc/self/status, in bytes.
func memory(name string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	must(err)
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name+":" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			must(err)
			return kilobytes * 1024
		}
	}
	return 0
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
