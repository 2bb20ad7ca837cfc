// A candidate of client-go's leader election, which writes down when it worked. Tests let it
// compete with candidates of kinform for the same Lease.
//
//	elector KUBECONFIG SERVER NAMESPACE IDENTITY JOURNAL LEASE DEADLINE RETRY
//
// The durations are in seconds. Each line of the journal is an event, the leaseTransitions and the
// time by CLOCK_MONOTONIC. SIGTERM ends it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const leaseName = "race"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", arguments[0])
	if err != nil {
		return err
	}
	config.Host = arguments[1]
	namespace, identity := arguments[2], arguments[3]
	file, err := os.OpenFile(arguments[4], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	durations := make([]time.Duration, 3)
	for i, text := range arguments[5:8] {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		durations[i] = time.Duration(seconds * float64(time.Second))
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	note(file, "candidate", 0)
	work := func(ctx context.Context) {
		lease, err := client.CoordinationV1().Leases(namespace).Get(ctx, leaseName, metav1.GetOptions{})
		if err != nil {
			return
		}
		token := *lease.Spec.LeaseTransitions
		for ctx.Err() == nil {
			note(file, "work", token)
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	for ctx.Err() == nil {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Name: leaseName, Namespace: namespace},
				Client:     client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
			},
			LeaseDuration:   durations[0],
			RenewDeadline:   durations[1],
			RetryPeriod:     durations[2],
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: work,
				OnStoppedLeading: func() {},
			},
		})
	}
	return nil
}

func note(file *os.File, event string, token int32) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	fmt.Fprintf(file, "%s %d %d.%06d\n", event, token, now.Sec, now.Nsec/1000)
}
