package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// monotonic returns nanoseconds of a clock that all processes share.
func monotonic() int64 {
	var now unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	return now.Nano()
}

// cpu returns the seconds that this process has used.
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
