//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

const canStall = true

// run runs a test binary in a process group of its own. Some stops are for the group, which has
// the processes that tests start, and some for the test process alone. Between two stops, the
// process runs for up to four times as long as it stops. At the beginning, when most tests of a
// fast package run, it is not longer than it ran before.
func (s stalls) run(command []string, stderr io.Writer) int {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// go test ends tests that take too long by SIGQUIT, and then by SIGKILL.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(stderr, "testrun:", err)
		return 1
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	random := s.random(command[0])
	pid, group, stopped, n := cmd.Process.Pid, -cmd.Process.Pid, 0, 0
	ran := 50 * time.Millisecond
	running := func() time.Duration {
		d := time.Duration(random.Int64N(int64(min(4*s.length, ran))))
		ran += d
		return d
	}
	timer := time.NewTimer(running())
	for {
		select {
		case sig := <-signals:
			_ = syscall.Kill(group, syscall.SIGCONT)
			_ = syscall.Kill(group, sig.(syscall.Signal))
		case <-timer.C:
			if stopped != 0 {
				_ = syscall.Kill(stopped, syscall.SIGCONT)
				stopped = 0
				timer.Reset(running())
				continue
			}
			if stopped = pid; random.IntN(2) == 0 {
				stopped = group
			}
			n++
			_ = syscall.Kill(stopped, syscall.SIGSTOP)
			timer.Reset(s.length)
		case err := <-ended:
			// What the tests left behind must not stay stopped.
			_ = syscall.Kill(group, syscall.SIGCONT)
			fmt.Fprintf(stderr, "testrun: stopped %d times for %v, with -seed %d\n", n, s.length, s.seed)
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				return max(1, exit.ExitCode()) // -1 if a signal ended it
			}
			if err != nil {
				fmt.Fprintln(stderr, "testrun:", err)
				return 1
			}
			return 0
		}
	}
}
