package main

import (
	"strings"
	"testing"
)

// Without the socket that -tcp names, nfsserve says where it comes from.
func TestSocketOfSystemdIsMissing(t *testing.T) {
	_, errs, code := try(t, "-fs", "mem", "-portmap", "off", "-rdma", "", "-tcp", "systemd:nfs")
	if code != 1 || !strings.Contains(errs, `a stream socket with the name "nfs"`) || !strings.Contains(errs, "try a socket unit of systemd") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}
