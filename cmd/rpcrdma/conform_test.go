package main

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

// A server of serve passes, a line for each case, and the counts in the last one.
func TestConformPassesOurServer(t *testing.T) {
	for _, carrier := range []string{"tcp", "udp", "rdma -provider rdmatcp", "rdma -provider iwarp"} {
		how := append([]string{"-carrier"}, strings.Fields(carrier)...)
		addr := serving(t, append([]string{"-q"}, how...)...)
		code, out, errs := try(t.Context(), append(append([]string{"conform", "-W", "20s"}, how...), addr)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		last := lines[len(lines)-1]
		if code != exitDone || errs != "" || len(lines) < 150 || !strings.Contains(last, " passed, 0 failed, 0 skipped") {
			t.Errorf("%s: exit %d, %d lines, %s%s", carrier, code, len(lines), last, errs)
		}
		for _, line := range lines[:len(lines)-1] {
			if !strings.HasPrefix(line, "ok   ") || !strings.Contains(line, " RFC ") {
				t.Errorf("%s: %s", carrier, line)
			}
		}
	}
}

// A server that breaks a rule has exit code 3, and -failed prints that line alone.
func TestConformNamesWhatFailed(t *testing.T) {
	addr := serving(t, "-q", "-carrier", "tcp")
	code, out, _ := try(t.Context(), "conform", "-failed", "-run", "message/version|value", addr, "100003.3")
	if code != exitInput || strings.Count(out, "\n") != 3 || !strings.Contains(out, "FAIL message/version-unknown ") || !strings.Contains(out, "expected PROG_MISMATCH; came SUCCESS\n") ||
		!strings.Contains(out, "0 passed, 2 failed, ") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	code, out, _ = try(t.Context(), "conform", "-json", "-run", "message/(null|version-0)$|value/int-0", addr, "100003.3")
	o := objects(t, out)
	if code != exitInput || len(o) != 4 {
		t.Fatalf("exit %d:\n%s", code, out)
	}
	for i, want := range []map[string]any{
		{"type": "case", "name": "message/null", "result": "ok", "section": "RFC 5531 §12.1", "expected": "SUCCESS", "came": "SUCCESS"},
		{"type": "case", "name": "message/version-0", "result": "fail", "expected": "PROG_MISMATCH", "came": "SUCCESS"},
		{"type": "case", "name": "value/int-0", "result": "skip", "reason": "needs the test program: rpcrdma serve, or conform.x"},
		{"type": "end", "carrier": "tcp", "address": addr, "program": 100003., "version": 3., "passed": 1., "failed": 1., "skipped": 1.},
	} {
		for k, v := range want {
			if o[i][k] != v {
				t.Errorf("line %d: %s is %v, expected %v", i, k, o[i][k], v)
			}
		}
	}
}

// The cases are listed without a server.
func TestConformListsCases(t *testing.T) {
	code, out, _ := try(t.Context(), "conform", "-list", "-run", "^record/byte|^datagram/two")
	if want := "record/byte-by-byte                      RFC 5531 §11           tcp\ndatagram/two-calls                       RFC 5531 §10           udp\n"; code != exitDone || out != want {
		t.Errorf("exit %d:\n%s", code, out)
	}
	code, out, _ = try(t.Context(), "conform", "-list", "-json", "-run", "^value/int-0$")
	if o := objects(t, out); code != exitDone || len(o) != 1 || o[0]["type"] != "list" || o[0]["test_program"] != true || len(o[0]["carriers"].([]any)) < 2 {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// A client that calls an address of conform -listen has a line for each case.
func TestConformListens(t *testing.T) {
	var out, errs buffer
	done := make(chan int)
	go func() {
		done <- run(t.Context(), []string{"conform", "-listen", "-W", "20s", "-run", "reply/(good|status-AUTH_BADCRED)$", "localhost:0"}, environment{stdout: &out, stderr: &errs})
	}()
	addr := ""
	for addr == "" {
		_, rest, _ := strings.Cut(errs.String(), "ready ")
		addr, _, _ = strings.Cut(rest, "\n")
		time.Sleep(time.Millisecond)
	}
	code, reply, failed := call("", "-json", "-d", "{}", "internal/conform/program/conform.x", addr, "CONFORM_CLIENT.CONFORM_CLIENT_V1.CLIENT_NEXT")
	if code != exitDone || !strings.Contains(reply, `"reply/good"`) {
		t.Errorf("exit %d, %s%s", code, reply, failed)
	}
	for _, args := range []string{"CLIENT_TRY 1", `CLIENT_REPORT {"number":1,"came":"CAME_RESULT","first":1,"second":0}`, "CLIENT_NEXT {}", "CLIENT_TRY 2", `CLIENT_REPORT {"number":2,"came":"CAME_RESULT","first":2,"second":0}`, "CLIENT_NEXT {}"} {
		proc, value, _ := strings.Cut(args, " ")
		code, reply, failed := call("", "-json", "-d", value, "internal/conform/program/conform.x", addr, "CONFORM_CLIENT.CONFORM_CLIENT_V1."+proc)
		if want := map[bool]int{true: exitPeer}[args == "CLIENT_TRY 2"]; code != want {
			t.Errorf("%s: exit %d, %s%s", args, code, reply, failed)
		}
	}
	code = <-done
	text := out.String()
	if code != exitInput || strings.Count(text, "\n") != 3 || !strings.Contains(text, "ok   reply/good ") || !strings.Contains(text, "FAIL reply/status-AUTH_BADCRED ") ||
		!strings.Contains(text, "expected AUTH_ERROR AUTH_BADCRED; came RESULT\n") || !strings.Contains(text, "client over tcp: 1 passed, 1 failed, 0 skipped, in ") {
		t.Errorf("exit %d: %s", code, text)
	}
}

// Each failure before the cases has its exit code and advice.
func TestConformWithoutAServer(t *testing.T) {
	gone := listener(t, nil)
	gone.Close()
	mute := listener(t, func(c net.Conn) { buf := make([]byte, 100); _, _ = c.Read(buf); _, _ = c.Read(buf) })
	addr := serving(t, "-q", "-carrier", "tcp")
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"-W 300ms " + mute.Addr().String(), exitSilent, "no reply"},
		{gone.Addr().String(), exitFailed, "start the server"},
		{"", exitUsage, "found no HOST"},
		{"-run ( h:1", exitUsage, "-run"},
		{"-W 0s h:1", exitUsage, "must be positive"},
		{"h:1 nfs", exitUsage, "found program"},
		{"-listen localhost:0 7", exitUsage, "found a second argument"},
		{"-listen -run nothing/has/this/name localhost:0", exitUsage, "no case of tcp"},
		{"-pcap f h:1", exitUsage, "-pcap shows RDMA"},
		{"-provider mem h:1", exitUsage, "within this process only"},
		{"-carrier rdma " + gone.Addr().String(), exitFailed, "start the server"},
		{"-run nothing/has/this/name " + addr, exitUsage, "no case of tcp"},
	} {
		code, _, errs := try(context.Background(), append([]string{"conform"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(errs, tt.want) || strings.Count(errs, "\n") < 2 && tt.code != exitUsage {
			t.Errorf("%s: exit %d, %s", tt.args, code, errs)
		}
	}
	for args, want := range map[string]string{"-carrier udp -tls -cert c -key k": "-tls is for streams", "-carrier tcp -pcap f": "show RDMA"} {
		if code, _, errs := try(context.Background(), append([]string{"serve"}, strings.Fields(args)...)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("serve %s: exit %d, %s", args, code, errs)
		}
	}
}
