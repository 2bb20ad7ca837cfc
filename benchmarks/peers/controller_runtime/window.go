package main

import (
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// stamp is the label with the time at which a change was written, in ns of CLOCK_MONOTONIC.
const stamp = "written-at"

// patience is how long the last changes may take.
const patience = 3 * time.Second

// window measures the changes of pods between "open" and "close": how long after its writing and
// how long after its event the reconcile of a change starts.
type window struct {
	mutex   sync.Mutex
	changes map[types.NamespacedName]change
	isOpen  bool
	used    float64
	written []int64
	event   []int64
}

type change struct {
	writtenAt, eventAt int64
}

func newWindow() *window {
	return &window{changes: map[types.NamespacedName]change{}}
}

func (w *window) predicates() []predicate.TypedPredicate[*corev1.Pod] {
	if w == nil {
		return nil
	}
	note := func(happened event.TypedUpdateEvent[*corev1.Pod]) bool {
		pod := happened.ObjectNew
		writtenAt, err := strconv.ParseInt(pod.Labels[stamp], 10, 64)
		if err != nil {
			return true
		}
		key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		w.mutex.Lock()
		defer w.mutex.Unlock()
		// The reconcile is for all changes before it, so the first one counts.
		if _, waits := w.changes[key]; w.isOpen && !waits {
			w.changes[key] = change{writtenAt, monotonic()}
		}
		return true
	}
	return []predicate.TypedPredicate[*corev1.Pod]{predicate.TypedFuncs[*corev1.Pod]{UpdateFunc: note}}
}

func (w *window) reconciled(key types.NamespacedName) {
	now := monotonic()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if change, waits := w.changes[key]; waits {
		delete(w.changes, key)
		w.written = append(w.written, (now-change.writtenAt)/1000)
		w.event = append(w.event, (now-change.eventAt)/1000)
	}
}

func (w *window) open() answer {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.isOpen = true
	w.used = cpu()
	return answer{}
}

type closeOptions struct {
	Changes int `json:"changes"` // the number of changes to wait for, but not for long: several may be one
}

// close answers with the delays in microseconds.
func (w *window) close(given closeOptions) answer {
	for deadline := time.Now().Add(patience); w.count() < given.Changes && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.isOpen = false
	return answer{"written": w.written, "event": w.event, "cpu": cpu() - w.used}
}

func (w *window) count() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.event)
}
