package main

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// fakeChild answers as the child processes of a selftest do.
func fakeChild(ctx context.Context, args ...string) ([]byte, error) {
	line := strings.Join(args, " ")
	switch {
	case strings.Contains(line, "-case ?"):
		return []byte("=== RUN   selftest/a\n    --- SKIP: selftest/messages/good (0.00s)\n    --- SKIP: selftest/messages/absent (0.00s)\n" +
			"    --- SKIP: selftest/memory/bad (0.00s)\n    --- SKIP: selftest/memory/panics (0.00s)\n    --- SKIP: selftest/queues/hangs (0.00s)\n"), nil
	case strings.Contains(line, "messages/good"):
		return []byte("--- PASS: selftest (0.01s)\n    --- PASS: selftest/messages/good (0.01s)\nPASS\n"), nil
	case strings.Contains(line, "messages/absent"):
		return []byte("--- PASS: selftest (0.01s)\n    --- SKIP: selftest/messages/absent (0.01s)\nPASS\n"), nil
	case strings.Contains(line, "memory/bad"):
		return []byte("=== RUN   selftest/memory/bad\n    memory.go:77: byte 3 is 0x1b, want 0\x1b[31m\n    harness.go:5: later\n--- FAIL: selftest\n"), errors.New("exit status 1")
	case strings.Contains(line, "memory/panics"):
		return []byte("panic: runtime error: index out of range\n\ngoroutine 1\n"), errors.New("exit status 2")
	case strings.Contains(line, "queues/hangs"):
		<-ctx.Done()
		return nil, ctx.Err()
	case strings.Contains(line, "-size 1m"):
		return []byte(`{"v":1,"type":"error","message":"no memory"}` + "\n"), errors.New("exit status 1")
	case strings.HasPrefix(line, "perf"):
		return []byte("a line of the log\n" + `{"v":1,"type":"end","calls_per_s":1000,"bytes_per_s":128000,"p50_ns":20000,"p99_ns":40000}` + "\n"), nil
	}
	return nil, errors.New("unexpected: " + line)
}

func runFakeSelftest(t *testing.T, json bool) string {
	t.Helper()
	var out, errs buffer
	s := &selftest{
		selftestCmd: &selftestCmd{Provider: "ibverbs=mlx5_0", Wait: 50 * time.Millisecond, Verbose: true},
		env:         environment{stdout: &out, stderr: &errs, json: json}, child: fakeChild,
	}
	if err := s.cases(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := errs.String(); !strings.HasPrefix(text, "1 of 5 messages/good: passed\n2 of 5 messages/absent: skipped\n3 of 5 memory/bad: byte 3 is 0x1b, want 0?[31m\n") {
		t.Errorf("found %q", text)
	}
	s.measure(t.Context())
	s.print(machine(t), "192.168.1.5:0")
	return out.String()
}

func TestChildIsNotWaitedForBeyondItsTime(t *testing.T) {
	sh := witness.Program(t, "sh")
	out, err := runChild(t.Context(), exec.Command(sh, "-c", "echo out; echo err >&2; exit 3"))
	if string(out) != "out\nerr\n" || err == nil {
		t.Errorf("found %q, %v", out, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runChild(ctx, exec.Command(sh, "-c", "exec sleep 600")); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v", err)
	}
}

func TestSelftestPrintsOnePage(t *testing.T) {
	page := runFakeSelftest(t, false)
	for _, want := range []string{
		"selftest of provider ibverbs=mlx5_0 at 192.168.1.5:0\n", "device mlx5_0: RoCE, driver mlx5, firmware 16.35?[31m\n",
		"cases: 1 passed, 3 failed, 1 skipped, in ",
		"  FAILED memory/bad: byte 3 is 0x1b, want 0?[31m\n", "  FAILED memory/panics: panic: runtime error: index out of range\n",
		"  FAILED queues/hangs: no end within 50ms\n",
		"latency, 128 bytes, one call at a time: p50 20µs, p99 40µs, 1000 calls/s, 0.1 MB/s\n",
		"throughput, 1 MiB, 8 calls at a time: not measured: no memory\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in:\n%s", want, page)
		}
	}
}

func TestSelftestJSONHasNamedFields(t *testing.T) {
	list := objects(t, runFakeSelftest(t, true))
	if len(list) != 1 || list[0]["type"] != "selftest" || list[0]["passed"] != 1. || list[0]["skipped"] != 1. || len(list[0]["failures"].([]any)) != 3 {
		t.Fatalf("found %v", list)
	}
	for field := range list[0] {
		if !strings.Contains(helpJSON, field) {
			t.Errorf("the help does not name field %s", field)
		}
	}
}

func TestSelftestNeedsTheBuildWithIBVerbs(t *testing.T) {
	if withIBVerbs {
		t.Skip("this build has the provider")
	}
	code, _, stderr := try(t.Context(), "selftest", "-provider", "mem")
	if code != exitUsage || !strings.Contains(stderr, "make build-ibverbs") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestAddressOfADeviceIsItsNetworkDevices(t *testing.T) {
	tree := machine(t)
	if _, err := localAddress(tree, "ibverbs"); err == nil || !strings.Contains(err.Error(), "found 2 devices: -provider ibverbs=DEVICE") {
		t.Errorf("two devices: %v", err)
	}
	if _, err := localAddress(tree, "ibverbs=siw0"); err == nil || !strings.Contains(err.Error(), "-addr with an IP address") {
		t.Errorf("a device without a network device: %v", err)
	}
	var p *rdmadev.Problem
	if _, err := localAddress(tree, "ibverbs=mlx5_7"); !errors.As(err, &p) || p.Cause != rdmadev.WrongDevice {
		t.Errorf("no such device: %v", err)
	}
}
