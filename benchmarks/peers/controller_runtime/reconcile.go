package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// longBackoff is the delay of failed keys: none of them is due while the program is measured.
const longBackoff = 1000 * time.Second

type reconcileOptions struct {
	Kubeconfig string `json:"kubeconfig"`
	Started    int64  `json:"started"` // when this process was started, in ns of CLOCK_MONOTONIC
	Objects    int64  `json:"objects"` // the number of pods on the server
	Workers    int    `json:"workers"`
	Reads      string `json:"reads"`  // "": nothing; "pod": the pod; "fields": and two fields of it
	Fails      int64  `json:"fails"`  // the number of reconciles that fail, the first ones
	Stamps     bool   `json:"stamps"` // notes the times of changes, for "open" and "close"
}

// running is a controller of all pods that has reconciled each of them.
type running struct {
	window *window
}

// reconcilePods starts a manager with a controller, and answers when every pod has been reconciled.
func reconcilePods(given reconcileOptions) (*running, answer) {
	config, err := clientcmd.BuildConfigFromFlags("", given.Kubeconfig)
	must(err)
	made, err := manager.New(config, manager.Options{Metrics: server.Options{BindAddress: "0"}})
	must(err)

	var count atomic.Int64
	all := make(chan struct{})
	started := &running{}
	if given.Stamps {
		started.window = newWindow()
	}
	work := func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		if started.window != nil {
			started.window.reconciled(request.NamespacedName)
		}
		if given.Reads != "" {
			var pod corev1.Pod
			if err := made.GetClient().Get(ctx, request.NamespacedName, &pod); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			if given.Reads == "fields" {
				readFields.Add(int64(len(pod.Status.Phase) + len(pod.Spec.NodeName)))
			}
		}
		number := count.Add(1)
		if number == given.Objects {
			close(all)
		}
		if number <= given.Fails {
			return reconcile.Result{}, errFails
		}
		return reconcile.Result{}, nil
	}
	options := controller.Options{
		MaxConcurrentReconciles: given.Workers,
		Reconciler:              reconcile.Func(work),
	}
	if given.Fails > 0 {
		options.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
			longBackoff, longBackoff,
		)
	}
	pods, err := controller.New("pods", made, options)
	must(err)
	handle := &handler.TypedEnqueueRequestForObject[*corev1.Pod]{}
	must(pods.Watch(source.Kind(made.GetCache(), &corev1.Pod{}, handle, started.window.predicates()...)))
	go func() { must(made.Start(context.Background())) }()
	<-all
	return started, answer{
		"cpu":  cpu(),
		"wall": float64(monotonic()-given.Started) / 1e9,
		"peak": memory("VmHWM"),
	}
}

var errFails = errors.New("this reconcile is one of those that fail")

// readFields is what "two fields" are read into, by several workers.
var readFields atomic.Int64

type idleOptions struct {
	Seconds float64 `json:"seconds"`
}

// idle answers with the CPU of a time in which nothing changes.
func idle(given idleOptions) answer {
	used := cpu()
	time.Sleep(time.Duration(given.Seconds * float64(time.Second)))
	return answer{"cpu": cpu() - used, "rest": memory("VmRSS")}
}
