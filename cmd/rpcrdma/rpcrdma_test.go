package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// buffer is a bytes.Buffer that goroutines can share.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// try runs a command line.
func try(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err buffer
	code = run(ctx, args, environment{stdout: &out, stderr: &err})
	return code, out.String(), err.String()
}

// serving starts rpcrdma serve and returns the address; the server ends with the test.
func serving(t *testing.T, args ...string) string {
	t.Helper()
	return servingAt(t, "127.0.0.1:0", args...)
}

// servingAt starts rpcrdma serve at an address.
func servingAt(t *testing.T, at string, args ...string) string {
	t.Helper()
	addr, _ := servingWith(t, at, args...)
	return addr
}

// servingWith is servingAt that returns what the server writes to stderr, too.
func servingWith(t *testing.T, at string, args ...string) (addr string, errs *buffer) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var out buffer
	errs = new(buffer)
	done := make(chan int)
	go func() {
		done <- run(ctx, append([]string{"serve"}, append(args, at)...), environment{stdout: &out, stderr: errs})
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-done; code != exitDone {
			t.Errorf("serve: exit %d: %s", code, errs.String())
		}
	})
	for range 5000 {
		for line := range strings.Lines(errs.String()) {
			if addr, ok := strings.CutPrefix(strings.TrimSpace(line), "ready "); ok {
				return addr, errs
			}
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("serve is not ready: %s", errs.String())
	return "", nil
}

// Each failure names its stage, gives advice, and has its exit code.
func TestPingStages(t *testing.T) {
	closed := listener(t, nil)
	shut := listener(t, func(c net.Conn) { c.Close() })
	mute := listener(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	web := listener(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n"); io.Copy(io.Discard, c) })
	stages := []struct {
		name string
		addr string
		code int
		want []string
	}{
		{"name", "no-such-host.invalid", exitFailed, []string{"name of no-such-host.invalid:20049", "try: "}},
		{"refused", closed.Addr().String(), exitFailed, []string{"connection to " + closed.Addr().String(), "no listener", "start the server"}},
		{"shut", shut.Addr().String(), exitFailed, []string{"connection to", "disconnected by the peer", "try: -provider iwarp, if the server speaks that: the peer accepted the TCP connection and closed it"}},
		{"mute", mute.Addr().String(), exitSilent, []string{"connection to", "no answer in time", "a longer -W"}},
		{"something else", web.Addr().String(), exitFailed, []string{"connection to", `its first bytes are "HTTP`, "another protocol listens"}},
		{"program", oncrpcServer(t, func(xid uint32) *oncrpc.Header { return oncrpc.NewReply(xid, oncrpc.ProgUnavail) }), exitPeer, []string{"call to", "program unavailable", "-prog and -vers"}},
		{"version", oncrpcServer(t, func(xid uint32) *oncrpc.Header { return oncrpc.NewProgMismatch(xid, 4, 4) }), exitPeer, []string{"has version 4 (RFC"}},
		{"silence", oncrpcServer(t, nil), exitSilent, []string{"call to", "no answer in time"}},
		{"transport", wrongVersion(t), exitPeer, []string{"ERR_VERS", "supports version 2,", "version 1"}},
	}
	closed.Close() // after the other listeners, which could get its port
	for _, tt := range stages {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := try(context.Background(), "ping", "-c", "1", "-W", "300ms", tt.addr)
			if code != tt.code {
				t.Errorf("exit %d, expected %d", code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("found %s, expected it to contain %q", stderr, want)
				}
			}
			code, stdout, _ := try(context.Background(), "ping", "-json", "-c", "1", "-W", "300ms", tt.addr)
			if code != tt.code || !strings.Contains(stdout, `"type":"error"`) {
				t.Errorf("exit %d: %s", code, stdout)
			}
			objects(t, stdout)
		})
	}
}

// listener accepts connections and runs serve for each.
func listener(t *testing.T, serve func(net.Conn)) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Add(1)
	var mu sync.Mutex
	var conns []net.Conn
	go func() {
		defer wg.Done()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			wg.Add(1)
			go func() { defer wg.Done(); serve(c) }()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l
}

// oncrpcServer answers each Call with the message that reply returns. If reply is nil, it never
// answers.
func oncrpcServer(t *testing.T, reply func(xid uint32) *oncrpc.Header) string {
	t.Helper()
	dev, err := rdmatcp.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	var held []*rdmaio.Request
	var mu sync.Mutex
	answer := func(r *rdmaio.Request, m *oncrpc.Header) {
		e := xdr.NewEncoder(nil)
		_ = m.EncodeXDR(e)
		r.Reply(rdmaio.Message{Inline: e.Bytes()}, nil)
	}
	s, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if reply != nil {
			answer(r, reply(binary.BigEndian.Uint32(r.Message)))
			return
		}
		mu.Lock()
		defer mu.Unlock()
		held = append(held, r)
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		mu.Lock()
		for _, r := range held {
			answer(r, oncrpc.NewReply(binary.BigEndian.Uint32(r.Message), oncrpc.Success))
		}
		mu.Unlock()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Addr()
}

// wrongVersion is a server that supports only RPC-over-RDMA version 2. It answers every message
// with ERR_VERS, 28 bytes by hand (RFC 8166 §4.5).
func wrongVersion(t *testing.T) string {
	t.Helper()
	dev, err := rdmatcp.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := dev.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for {
			req, err := l.Accept(ctx)
			if err != nil {
				return
			}
			wg.Add(1)
			go func() { defer wg.Done(); answerVersion(t, ctx, dev, req) }()
		}
	}()
	t.Cleanup(func() {
		cancel()
		l.Close()
		wg.Wait()
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return l.Addr()
}

func answerVersion(t *testing.T, ctx context.Context, dev verbs.Device, req verbs.ConnRequest) {
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	pd, err := dev.AllocPD()
	must(err)
	event := make(chan struct{}, 16)
	cq, err := dev.CreateCQ(16, func() { event <- struct{}{} })
	must(err)
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4, MaxSendSGE: 1, MaxRecvSGE: 1})
	must(err)
	buf := make([]byte, 8192)
	mr, err := pd.RegisterMemory(buf, verbs.AccessLocalWrite)
	must(err)
	_, err = qp.PostRecv([]verbs.RecvWR{{WRID: 1, SGL: []verbs.SGE{{MR: mr, Length: 4096}}}})
	must(err)
	must(cq.Arm(false))
	_, err = req.Accept(ctx, qp, nil)
	must(err)
	var wcs [4]verbs.WC
	for range 2 {
		select {
		case <-event:
		case <-ctx.Done():
		}
		n, err := cq.Poll(wcs[:])
		must(err)
		if n > 0 && wcs[0].Opcode == verbs.WCRecv && wcs[0].Status == verbs.StatusSuccess {
			m := append([]byte(nil), buf[:8]...) // XID and version
			for _, w := range []uint32{1, 4, 1, 2, 2} {
				m = binary.BigEndian.AppendUint32(m, w) // credits, RDMA_ERROR, ERR_VERS, low, high
			}
			copy(buf[4096:], m)
			_, err = qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: mr, Offset: 4096, Length: len(m)}}}})
			must(err)
			must(cq.Arm(false))
		}
	}
	<-ctx.Done()
	must(qp.Close())
	must(mr.Deregister())
	must(cq.Close())
	must(pd.Close())
}

// objects parses JSON lines, and checks the fields that all of them have.
func objects(t *testing.T, text string) (list []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if o["v"] != 1. || o["type"] == "" {
			t.Errorf("no version and type: %s", line)
		}
		list = append(list, o)
	}
	return list
}

// ping of a server that answers.
func TestPingReportsTheAnswers(t *testing.T) {
	addr := serving(t)
	code, stdout, stderr := try(context.Background(), "ping", "-c", "3", "-i", "1ms", addr)
	if code != exitDone || stderr != "" || strings.Count(stdout, "reply from "+addr) != 3 || !strings.Contains(stdout, "3 calls, 3 replies, 0% lost") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, _ = try(context.Background(), "ping", "-json", "-c", "2", "-i", "1ms", "-inline", "8k", "-prog", "7", "-vers", "9", addr)
	all := objects(t, stdout)
	if code != exitDone || len(all) != 4 || all[0]["inline_send_bytes"] != 5120. || all[3]["received"] != 2. {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // as by a signal
	defer cancel()
	code, stdout, _ = try(ctx, "ping", "-i", "1ms", "-q", addr)
	if code != exitDone || strings.Contains(stdout, "reply from") || !strings.Contains(stdout, " 0% lost") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
}

// A server is found on whichever address of a name it listens. A measurement without calls is an
// error.
func TestEachAddressOfANameIsTried(t *testing.T) {
	if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skip("no IPv6 here")
	} else {
		l.Close()
	}
	ips, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip", "localhost")
	if err != nil || len(ips) < 2 {
		t.Skip("localhost has one address here")
	}
	addr := servingAt(t, "[::1]:0")
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := try(context.Background(), "ping", "-c", "1", "localhost:"+port); code != exitDone || !strings.Contains(stdout, "(["+"::1]:"+port+")") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// Each direction, depth and size of measurement works over both providers and moves its data.
func TestPerfMovesItsData(t *testing.T) {
	addr := serving(t)
	for _, args := range [][]string{
		{"-provider", "mem"},
		{"-provider", "mem", "-R", "-size", "20000", "-depth", "3"},
		{"-size", "1"},
		{"-size", "100k", "-depth", "4", "-P", "2", addr},
		{"-R", "-size", "33333", "-depth", "40", addr},
		{"-bidir", "-size", "5000", "-depth", "2", "-inline", "2048", addr},
		{"-async", "-provider", "mem", "-depth", "64"},
		{"-async", "-bidir", "-size", "5000", "-depth", "3", "-P", "2", addr},
		{"-async", "-R", "-size", "100k", "-depth", "4", addr},
	} {
		args = append([]string{"perf", "-n", "200", "-t", "10ms", "-verify"}, args...)
		code, stdout, stderr := try(context.Background(), args...)
		if code != exitDone || stderr != "" || !strings.Contains(stdout, "p99.9 ") || !strings.Contains(stdout, "processor time") {
			t.Errorf("%v: exit %d\n%s%s", args, code, stdout, stderr)
		}
		code, stdout, _ = try(context.Background(), append(args, "-json", "-histogram")...)
		all := objects(t, stdout)
		end := all[len(all)-1]
		if code != exitDone || all[0]["type"] != "start" || end["type"] != "end" || end["calls"] != 200. {
			t.Errorf("%v: exit %d\n%s", args, code, stdout)
		}
		if end["data_bytes"] != 200*all[0]["size_bytes"].(float64) {
			t.Errorf("%v: %v bytes", args, end["data_bytes"])
		}
		var n float64
		for _, b := range end["histogram"].([]any) {
			n += b.(map[string]any)["count"].(float64)
		}
		if n != 200 {
			t.Errorf("%v: %v calls in the histogram", args, n)
		}
		if counts, ok := end["connection_calls"].([]any); ok != (all[0]["connections"] != 1.) || ok && len(counts) != 2 {
			t.Errorf("%v: calls of connections %v", args, end["connection_calls"])
		}
	}
}

// A measurement whose calls all fail prints an error and no figures.
func TestPerfWithoutCalls(t *testing.T) {
	dev, err := rdmatcp.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	s, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", rpc.NewHandler(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, args := range []string{"perf -t 10s ", "perf -json -t 10s ", "perf -json -n 5 -histogram -i 0 ", "perf -async -depth 4 -t 10s "} {
		code, stdout, stderr := try(context.Background(), strings.Fields(args+s.Addr())...)
		if code != exitPeer || !strings.Contains(stdout+stderr, "unavailable") || strings.Contains(stdout, `"end"`) || strings.Contains(stdout, "p99") {
			t.Errorf("%s: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
}

// A measurement ends although the server no longer answers: with the figures of the calls before,
// and the exit code for silence.
func TestPerfServerHangs(t *testing.T) {
	dev, err := rdmatcp.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	service := newService()
	for _, args := range []string{"-t 500ms -P 1", "-t 500ms -P 3", "-n 1000000 -P 1", "-n 1000000 -P 3", "-t 500ms -async", "-n 1000000 -P 3 -async -depth 5"} {
		var held sync.WaitGroup
		first := sync.OnceValue(time.Now)
		s, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			if time.Since(first()) < 100*time.Millisecond {
				service.ServeRPC(r)
				return
			}
			held.Go(func() { // until the connection is closed
				<-r.Context().Done()
				r.Drop(nil)
			})
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := try(context.Background(), strings.Fields("perf -W 300ms -q "+args+" "+s.Addr())...)
		if code != exitSilent || !strings.Contains(stderr, "no answer 300ms after the end") && !strings.Contains(stderr, "no call was answered") {
			t.Errorf("%s: exit %d\n%s%s", args, code, stdout, stderr)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		held.Wait()
	}
}

// A measurement by time reports at intervals and at the end. Its quantiles are in order.
func TestPerfIntervals(t *testing.T) {
	var all []map[string]any
	for span := 120 * time.Millisecond; len(all) < 4; span *= 4 { // a busy machine may miss reports
		code, stdout, _ := try(context.Background(), "perf", "-provider", "mem", "-t", span.String(), "-i", "30ms", "-json")
		if all = objects(t, stdout); code != exitDone || len(all) < 4 && span > 5*time.Second {
			t.Fatalf("exit %d\n%s", code, stdout)
		}
	}
	var calls float64
	for _, o := range all[1 : len(all)-1] {
		if o["type"] != "interval" {
			t.Errorf("%v", o["type"])
		}
		calls += o["calls"].(float64)
	}
	end := all[len(all)-1]
	if end["calls"].(float64) < calls {
		t.Errorf("%v calls in all, %v in the intervals", end["calls"], calls)
	}
	last := 0.
	for _, q := range []string{"min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"} {
		if v := end[q].(float64); v < last {
			t.Errorf("%s is %v, less than the one before", q, v)
		} else {
			last = v
		}
	}
}

// A measurement that is interrupted prints a summary of the calls so far.
func TestPerfInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var out, errs buffer
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"perf", "-provider", "mem", "-t", "1h", "-i", "10ms", "-histogram"}, environment{stdout: &out, stderr: &errs})
	}()
	measured := regexp.MustCompile(` [1-9]\d* calls/s`) // the first intervals may have no call
	for deadline := time.Now().Add(30 * time.Second); !measured.MatchString(out.String()) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if code := <-done; code != exitDone || !strings.Contains(out.String(), "time of a call") || !strings.Contains(out.String(), "up to ") {
		t.Errorf("exit %d\n%s%s", code, out.String(), errs.String())
	}
}

// An interrupt during the warm-up is not reported as a timeout of the server.
func TestPerfInterruptedInWarmUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"perf", "-provider", "mem", "-t", "10s"}, environment{stdout: &out, stderr: &errs})
	}()
	for out.String() == "" && errs.String() == "" { // the warm-up begins, and takes 1 s
		time.Sleep(time.Millisecond)
	}
	cancel()
	code, stderr := <-ended, errs.String()
	if want := "rpcrdma: perf: interrupted before the first call was measured\n"; code != exitFailed || stderr != want {
		t.Errorf("exit %d, %q, expected %q", code, stderr, want)
	}
}

// A server that ends during the measurement is an error, not a result.
func TestPerfLosesServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var served, serveErrs, out, errs buffer
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"serve", "-json", "127.0.0.1:0"}, environment{stdout: &served, stderr: &serveErrs})
	}()
	for !strings.Contains(served.String(), "ready") {
		time.Sleep(time.Millisecond)
	}
	addr := objects(t, served.String())[0]["address"].(string)
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), []string{"perf", "-t", "1h", "-i", "10ms", addr}, environment{stdout: &out, stderr: &errs})
	}()
	for strings.Count(out.String(), "\n") < 3 && errs.String() == "" { // calls have been measured
		time.Sleep(time.Millisecond)
	}
	cancel()
	code, stderr := <-ended, errs.String()
	if code != exitFailed || !strings.Contains(stderr, "call to "+addr) || !strings.Contains(stderr, "try: read the server's log") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code := <-done; code != exitDone {
		t.Errorf("serve: exit %d: %s", code, serveErrs.String())
	}
}

// full is a writer that fails as a full disk does.
type full struct{ writes int }

func (f *full) Write([]byte) (int, error) {
	f.writes++
	return 0, syscall.ENOSPC
}

// A failed write to any output is reported once, and changes the exit code.
func TestOutputFails(t *testing.T) {
	addr := serving(t)
	var errs buffer
	code := run(context.Background(), []string{"ping", "-c", "1", addr}, environment{stdout: new(full), stderr: &errs})
	if code != exitFailed || errs.String() != "rpcrdma: no space left on device\n" {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	for _, flag := range []string{"-trace", "-pcap"} {
		code, _, stderr := try(context.Background(), "perf", "-n", "2000", "-t", "1ms", flag, "/dev/full", addr)
		if code != exitFailed || !strings.Contains(stderr, "no space left") || strings.Count(stderr, "\n") > 2 {
			t.Errorf("%s: exit %d, %d lines: %.200s", flag, code, strings.Count(stderr, "\n"), stderr)
		}
	}
}

// With -json, every command prints a failure as an object.
func TestJSONErrors(t *testing.T) {
	closed := listener(t, nil)
	closed.Close()
	used := serving(t)
	for _, args := range [][]string{
		{"ping", "-c", "1", closed.Addr().String()},
		{"perf", closed.Addr().String()},
		{"perf", "-depth", "0"},
		{"perf", "-trace", "/no/such/folder", used},
		{"serve", used},
	} {
		code, stdout, stderr := try(context.Background(), append(args, "-json")...)
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		var line struct {
			Type, Stage, Message string
			Code                 int
		}
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
			t.Fatalf("%v: %v: %q %q", args, err, stdout, stderr)
		}
		if code == exitDone || line.Type != "error" || line.Code != code || line.Stage == "" || line.Message == "" || stderr != "" {
			t.Errorf("%v: exit %d: %q %q", args, code, stdout, stderr)
		}
	}
}

// Files stop at the limit, after a whole line or block, with one note: a server writes them as long
// as it runs.
func TestFilesStopAtTheLimit(t *testing.T) {
	addr := serving(t)
	dir := t.TempDir()
	ladder, capture := filepath.Join(dir, "ladder.txt"), filepath.Join(dir, "perf.pcapng")
	args := []string{"perf", "-n", "200", "-t", "1ms", "-trace", ladder, "-pcap", capture, addr}
	if code, _, stderr := try(context.Background(), append(args, "-limit", "10k")...); code != exitDone || strings.Count(stderr, "-limit is 10240") != 2 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	for name, whole := range map[string]func([]byte) bool{
		ladder: func(b []byte) bool { return b[len(b)-1] == '\n' },
		capture: func(b []byte) bool { // a block ends with its length
			n := int(binary.LittleEndian.Uint32(b[len(b)-4:]))
			return n <= len(b) && int(binary.LittleEndian.Uint32(b[len(b)-n+4:])) == n
		},
	} {
		b, err := os.ReadFile(name)
		if err != nil || len(b) < 9<<10 || len(b) > 10<<10 || !whole(b) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	if code, _, stderr := try(context.Background(), append(args, "-limit", "0")...); code != exitDone || strings.Contains(stderr, "-limit") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	for _, name := range []string{ladder, capture} {
		if st, err := os.Stat(name); err != nil || st.Size() < 20<<10 {
			t.Errorf("%s: %d bytes without a limit, %v", name, st.Size(), err)
		}
	}
}

// The trace and the capture of a ping are readable. Wireshark decodes the packets.
func TestTraceAndCapture(t *testing.T) {
	addr := serving(t)
	dir := t.TempDir()
	ladder, capture := filepath.Join(dir, "ladder.txt"), filepath.Join(dir, "ping.pcapng")
	if code, _, stderr := try(context.Background(), "ping", "-c", "2", "-i", "1ms", "-trace", ladder, "-pcap", capture, addr); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	text, err := os.ReadFile(ladder)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"dial", "post", "complete", "close-qp", "-->", "<--", "RDMA_MSG; CALL of program 100003 version 3 procedure 0", "RDMA_MSG; REPLY: success"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in the trace:\n%s", want, text)
		}
	}
	var both buffer // the trace comes as things happen, not at the end
	code := run(context.Background(), []string{"ping", "-c", "1", "-trace", "-", addr}, environment{stdout: &both, stderr: &both})
	if seen := both.String(); code != exitDone || !strings.Contains(seen, "dialed") || strings.Index(seen, "dialed") > strings.Index(seen, "reply from") {
		t.Errorf("exit %d: %s", code, seen)
	}
	if code, _, stderr := try(context.Background(), "ping", "-pcap", filepath.Join(dir, "no", "such"), addr); code != exitFailed || !strings.Contains(stderr, "pcap") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	out, err := exec.Command(witness.Program(t, "tshark"), "-r", capture, "-T", "fields", "-e", "_ws.col.Info", "-e", "_ws.malformed").CombinedOutput()
	if err != nil || strings.Count(string(out), "V3 NULL Call") != 2 || strings.Count(string(out), "V3 NULL Reply") != 2 ||
		strings.Contains(strings.ToLower(string(out)), "malformed") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Wireshark with the dissector of version 2 reads the capture of a conversation, and joins the
// parts of continued messages.
func TestWiresharkReadsCapturesOfVersion2(t *testing.T) {
	tshark := witness.Program(t, "tshark")
	const script = "../../tools/wireshark/rpcrdma2.lua"
	if _, err := os.Stat(script); err != nil { // go test then knows that this depends on it
		t.Fatal(err)
	}
	addr := serving(t, "-versions", "2")
	ping, perf := filepath.Join(t.TempDir(), "ping.pcapng"), filepath.Join(t.TempDir(), "perf.pcapng")
	for _, args := range [][]string{
		{"ping", "-c", "2", "-i", "1ms", "-pcap", ping, "-versions", "2", addr},
		{"perf", "-n", "2", "-t", "1ms", "-size", "6k", "-pcap", perf, "-versions", "2", addr},
	} {
		if code, _, stderr := try(context.Background(), args...); code != exitDone {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	}
	dissect := func(file string, args ...string) string {
		out, err := exec.Command(tshark, append([]string{"-X", "lua_script:" + script, "-r", file}, args...)...).CombinedOutput()
		if err != nil || strings.Contains(string(out), "Lua") || strings.Contains(strings.ToLower(string(out)), "malformed") {
			t.Errorf("%v\n%s", err, out)
		}
		return string(out)
	}
	out := dissect(ping)
	for text, n := range map[string]int{"RDMA2_CONNPROP xid": 2, "V3 NULL Call": 2, "V3 NULL Reply": 2} {
		if strings.Count(out, text) != n {
			t.Errorf("found %d times %q, expected %d:\n%s", strings.Count(out, text), text, n, out)
		}
	}
	// The second part of a 6 KiB WRITE is the last one, with the RPC message.
	if out := dissect(perf, "-o", "rpc.dissect_unknown_programs:TRUE", "-Y", "rpcrdma2.part.last", "-T", "fields", "-e", "rpcrdma2.part", "-e", "rpc.xid", "-e", "rpc.programversion"); !strings.HasPrefix(lastLine(out), "2\t0x") {
		t.Errorf("%s", out)
	}
}

// lastLine returns the last line of a text.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// Descriptions of messages in the ladder, encoded by hand (RFC 8166 §4).
func TestLadderDescribesMessages(t *testing.T) {
	for _, tt := range []struct{ hex, want string }{
		{"0000002a 00000001 00000020 00000004 00000001 00000002 00000002", "xid 0x0000002a version 1 credits 32 RDMA_ERROR ERR_VERS, version 2"},
		{"0000002a 00000001 00000020 00000004 00000002", "xid 0x0000002a version 1 credits 32 RDMA_ERROR ERR_CHUNK"},
		{"0000002a 00000001 00000020 00000003", "xid 0x0000002a version 1 credits 32 RDMA_DONE"},
		{
			"0000002a 00000001 00000020 00000001 00000001 00000000 000000aa 00000100 00000000 00001000 00000000 " +
				"00000001 00000001 000000bb 00000200 00000000 00002000 00000000 00000001 00000001 000000cc 00000300 00000000 00003000",
			"xid 0x0000002a version 1 credits 32 RDMA_NOMSG, read at 0: 256 bytes key 0x000000aa, write 512 bytes key 0x000000bb, reply 768 bytes key 0x000000cc",
		},
		{"0000002a 00000001 00000020 00000000 00000000 00000000 00000000 0000002a", "xid 0x0000002a version 1 credits 32 RDMA_MSG; not a whole RPC message"},
		{"0000002a", "not decoded: found 4 bytes, expected 16 at least"},
		{"0000002a 00000001 00000020 00000000", "not decoded: "},
		{"0000002a 00000003 00000020 00000000", "xid 0x0000002a version 3 credit word 0x00000020 type 0: not decoded, expected version 1 or 2"},
		{"0000002a 00000003 00000020 00000004 00000001 00000001 00000002", "xid 0x0000002a version 3 credit word 0x00000020 type 4: ERR_VERS, versions 1 to 2"},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(tt.hex, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(b, len(b), new(parts)); got != tt.want && !(strings.HasSuffix(tt.want, ": ") && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s\n got %s\nwant %s", tt.hex, got, tt.want)
		}
	}
}

// Usage errors name the fault and have exit code 2.
func TestUsageErrorsNameTheFault(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"pong", "pong"},
		{"ping", "rpcrdma: HOST is missing\nusage: rpcrdma ping [flags] HOST[:PORT]\ntry: rpcrdma help ping\n"},
		{"ping localhost 20049", "unexpected argument 20049\nusage: rpcrdma ping [flags] HOST[:PORT]\n"},
		{"completion", "SHELL is missing"},
		{"perf -size", "rpcrdma: -size: the value is missing"},
		{"serve 70000", `found port "70000", expected a number up to 65535`},
		{"serve localhost:70000", `found port "70000", expected a number up to 65535`},
		{"serve localhost:x", `found port "x", expected a number up to 65535`},
		{"perf localhost:x", "port"},
		{"ping -provider verbs x", "provider"},
		{"ping -provider mem x", "within this process only: use -provider rdmatcp, or rpcrdma perf -provider mem"},
		{"perf -provider mem x", "within this process only: leave out the address"},
		{"ping http://localhost:20049/", `address "http://localhost:20049/": found the scheme "http", expected HOST:PORT alone, such as localhost:20049`},
		{"ping -tls required localhost", `-tls: found "required" after it, expected no mode`},
		{"ping -c -1 localhost", `-c: found "-1", expected a number, 0 or more`},
		{"ping -i -1s localhost", `-i: found "-1s", expected a duration that is not negative`},
		{"ping a:b:1", `address "a:b:1": found too many colons, expected HOST:PORT`},
		{"ping [::1", `address "[::1": found missing ']', expected HOST:PORT`},
		{"ping :20049", `address ":20049": found no host, expected HOST or HOST:PORT`},
		{"ping localhost:x", "port"},
		{"ping localhost:0", "port 0"},
		{"perf -size 2000m", "-size: found \"2000m\", expected at most 1024m"},
		{"perf -size 65m", "-size is 65m, must be between 1 and 64m"},
		{"perf -size 1q", "-size: found \"1q\", expected a number of bytes"},
		{"perf -depth 0", "-depth is 0"},
		{"perf -P 5000", "-P is 5000"},
		{"perf -t 0s", "-t is 0s"},
		{"serve -provider mem", "perf -provider mem"},
		{"help nothing", "no help topic"},
		{"help pnig", `no help topic "pnig"; did you mean ping?`},
		{"help jsno", `did you mean json?`},
		{"pign localhost", `no command "pign"; did you mean ping?`},
		{"-tcp localhost", `found "-tcp", expected a command first, such as rpcrdma call; did you mean rpcrdma call -carrier tcp, rpcrdma serve -carrier tcp or rpcrdma conform -carrier tcp?`},
		{"-listen :20049", "did you mean rpcrdma serve [ADDRESS]?"},
		{"perf -cont 3 localhost", "unknown flag -cont; did you mean -count?"},
		{"serve -count 3", "unknown flag -count: it belongs to the commands ping, nfsping and perf"},
		{"ping -nonsense x", "nonsense"},
		{"ping -c -1 x", `rpcrdma: -c: found "-1", expected`},
		{"ping -c x x", `rpcrdma: -c: found "x", expected a number`},
		{"perf -n x", `rpcrdma: -n: found "x", expected a number`},
		{"ping -prog x x", `rpcrdma: -prog: found "x", expected a number`},
		{"ping -W 0s x", "-W is 0s"},
		{"ping -i -1s x", "-i"},
		{"perf -W 0s", "-W is 0s"},
		{"perf -t -5s", `rpcrdma: -t: found "-5s", expected`},
		{"perf -t 5", "such as 500ms or 5s"},
		{"perf -inline 100", "-inline is 100, must be between 1024 and 256k"},
		{"serve -inline 1m", "-inline is 1m"},
		{"ping -credits 0 x", "-credits is 0"},
		{"ping -versions 3 x", `rpcrdma: -versions: found "3", expected 1, 2, or both`},
		{"perf -versions=", `rpcrdma: -versions: found "", expected 1, 2, or both`},
		{"serve -versions 2,2", `rpcrdma: -versions: found "2,2", expected each version once`},
		{"ping -versions 1, x", `found "1,"`},
		{"ping -versions 2;1 x", `found "2;1"`},
	} {
		code, stdout, stderr := try(context.Background(), strings.Fields(tt.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, tt.want) || strings.Contains(stderr, "--") {
			t.Errorf("%s: exit %d, %q, %q", tt.args, code, stdout, stderr)
		}
	}
	for _, args := range []string{"", "help", "-h", "ping -help", "help perf", "help serve", "help version", "help exit-codes", "help json", "help errors", "help completion", "version", "--version"} {
		code, stdout, stderr := try(context.Background(), strings.Fields(args)...)
		if code != exitDone || stdout == "" || stderr != "" {
			t.Errorf("%q: exit %d, %q", args, code, stderr)
		}
	}
}
