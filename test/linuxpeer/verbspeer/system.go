package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

// pinned returns the kilobytes of this process that the kernel has pinned for devices (VmPin of
// proc(5)).
func pinned() (kilobytes int, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, text, found := strings.Cut(string(status), "VmPin:")
	if !found {
		return 0, fmt.Errorf("/proc/self/status has no VmPin: %q", status)
	}
	_, err = fmt.Sscanf(text, "%d kB", &kilobytes)
	return kilobytes, err
}

// awaitListener waits until a program of this machine listens at the port of an address. A program
// of the other end may listen again for each connection.
func awaitListener(ctx context.Context, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	for {
		out, err := exec.CommandContext(ctx, "rdma", "resource", "show", "cm_id").Output()
		if err != nil {
			return fmt.Errorf("rdma resource show cm_id: %w", err)
		}
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "state LISTEN") && strings.Contains(line+" ", ":"+port+" ") {
				return nil
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("no program listens at port %s: %w", port, context.Cause(ctx))
		}
	}
}
