package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// oncrpcOverTCP is a server that answers with one reply.
func oncrpcOverTCP(t *testing.T, reply *oncrpc.Header) string {
	return scripted(t, func(xid uint32) []byte {
		h := *reply
		h.XID = xid
		return encoded(&h)
	})
}

// Every way to refuse a call (RFC 5531 §9) has exit code 4, and its status in the object.
func TestCallRefused(t *testing.T) {
	type refusal struct {
		reply *oncrpc.Header
		want  map[string]any
	}
	cases := []refusal{
		{oncrpc.NewReply(0, oncrpc.ProgUnavail), map[string]any{"reply_stat": "MSG_ACCEPTED", "accept_stat": "PROG_UNAVAIL", "may_have_run": false}},
		{oncrpc.NewProgMismatch(0, 2, 4), map[string]any{"accept_stat": "PROG_MISMATCH", "low": 2., "high": 4., "may_have_run": false}},
		{oncrpc.NewReply(0, oncrpc.ProcUnavail), map[string]any{"accept_stat": "PROC_UNAVAIL", "may_have_run": false}},
		{oncrpc.NewReply(0, oncrpc.GarbageArgs), map[string]any{"accept_stat": "GARBAGE_ARGS", "may_have_run": false}},
		{oncrpc.NewReply(0, oncrpc.SystemErr), map[string]any{"accept_stat": "SYSTEM_ERR", "may_have_run": true}},
		{oncrpc.NewRPCMismatch(0), map[string]any{"reply_stat": "MSG_DENIED", "reject_stat": "RPC_MISMATCH", "low": 2., "high": 2.}},
	}
	for why := oncrpc.AuthStat(1); why <= 7; why++ {
		cases = append(cases, refusal{oncrpc.NewAuthError(0, why), map[string]any{"reply_stat": "MSG_DENIED", "reject_stat": "AUTH_ERROR", "auth_stat": why.String()}})
	}
	for _, tt := range cases {
		addr := oncrpcOverTCP(t, tt.reply)
		code, out, errs := call("", "-json", "-d", `"a"`, notesFile, addr, "NOTES.NOTES_V1.NOTES_GET")
		o := objects(t, out)
		if code != exitPeer || len(o) != 1 || o[0]["type"] != "error" || o[0]["help"] == "" || errs != "" {
			t.Errorf("%v: exit %d, %s%s", tt.want, code, out, errs)
			continue
		}
		for k, v := range tt.want {
			if o[0][k] != v {
				t.Errorf("%v: %s is %v, expected %v", tt.want, k, o[0][k], v)
			}
		}
	}
}

// The same over RDMA, with a few of them, and a server that says nothing.
func TestCallRefusedOverRDMA(t *testing.T) {
	for _, tt := range []struct {
		reply func(xid uint32) *oncrpc.Header
		code  int
		want  string
	}{
		{func(xid uint32) *oncrpc.Header { return oncrpc.NewProgMismatch(xid, 2, 4) }, exitPeer, "versions 2 to 4"},
		{func(xid uint32) *oncrpc.Header { return oncrpc.NewAuthError(xid, oncrpc.AuthStatTooWeak) }, exitPeer, "another -cred"},
		{func(xid uint32) *oncrpc.Header { return oncrpc.NewReply(xid, oncrpc.Success) }, exitPeer, "results from"},
		{nil, exitSilent, "no answer in time"},
	} {
		code, out, errs := call("", "-carrier", "rdma", "-timeout", "400ms", "-d", `"a"`, notesFile, oncrpcServer(t, tt.reply), "NOTES.NOTES_V1.NOTES_GET")
		if code != tt.code || out != "" || !strings.Contains(errs, tt.want) {
			t.Errorf("exit %d, %s%s, expected %d with %q", code, out, errs, tt.code, tt.want)
		}
	}
	if code, _, errs := call("", "-carrier", "rdma", "-d", `"a"`, notesFile, wrongVersion(t), "NOTES.NOTES_V1.NOTES_GET"); code != exitPeer || !strings.Contains(errs, "ERR_VERS") {
		t.Errorf("ERR_VERS: exit %d, %s", code, errs)
	}
}

// Lines go on after a connection is lost: the call is not repeated, and the next one has another
// connection.
func TestCallLinesReconnect(t *testing.T) {
	l := listener(t, func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, 40))
		c.Close()
	})
	code, out, _ := call("\"a\"\n\"b\"\n", "-d", "-", notesFile, l.Addr().String(), "NOTES.NOTES_V1.NOTES_GET")
	o := objects(t, out)
	if code != exitMayRun || len(o) != 2 || o[0]["code"] != 6. || o[1]["code"] != 6. || o[1]["line"] != 2. {
		t.Errorf("exit %d, %s", code, out)
	}
}

// Answers that are not a reply to the call, or whose results do not fit, are refused.
func TestCallHostileServer(t *testing.T) {
	success := func(xid uint32, more ...byte) []byte { return encoded(oncrpc.NewReply(xid, oncrpc.Success), more...) }
	for _, tt := range []struct {
		name   string
		answer func(xid uint32) []byte
		code   int
		want   string
	}{
		{"no results", func(xid uint32) []byte { return success(xid) }, exitPeer, "found 0 bytes before the end of the input, expected 4"},
		{"no such arm", func(xid uint32) []byte { return success(xid, 0, 0, 0, 9) }, exitPeer, "found 9, which is not a member of enum note_status"},
		{"garbage", func(xid uint32) []byte { return success(xid, bytes.Repeat([]byte{0xff}, 4096)...) }, exitPeer, "note_status"},
		{"trailing bytes", func(xid uint32) []byte { return success(xid, 0, 0, 0, 2, 0, 0, 0, 0) }, exitPeer, "found 4 bytes after the value"},
		{"a count of 4 GiB", func(xid uint32) []byte { return success(xid, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff) }, exitPeer, "found: name"},
		{"half a header", func(xid uint32) []byte { return success(xid)[:12] }, exitPeer, "not a valid RPC reply"},
		{"no RPC message", func(xid uint32) []byte { return []byte("HTTP") }, exitPeer, "no RPC message"},
		{"a wrong XID", func(xid uint32) []byte { return success(xid+1, 0, 0, 0, 2) }, exitSilent, "no answer in time"},
		{"silence", func(xid uint32) []byte { return nil }, exitSilent, "no answer in time"},
		{"too long", func(xid uint32) []byte { return success(xid, make([]byte, 8192)...) }, exitPeer, "a larger -max-reply"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errs := call("", "-W", "400ms", "-max-reply", "8k", "-d", `"a"`, notesFile, scripted(t, tt.answer), "NOTES.NOTES_V1.NOTES_GET")
			want := strings.TrimPrefix(tt.want, "found: ")
			if code != tt.code || out != "" || !strings.Contains(errs, want) {
				t.Errorf("exit %d, found %s%s, expected %d with %q", code, out, errs, tt.code, want)
			}
		})
	}
	mark := listener(t, func(c net.Conn) { // a record of 2 GiB
		b := make([]byte, 4)
		binary.BigEndian.PutUint32(b, 1<<31-1)
		_, _ = c.Write(b)
		_, _ = io.Copy(io.Discard, c)
	})
	if code, _, errs := call("", "-d", `"a"`, notesFile, mark.Addr().String(), "NOTES.NOTES_V1.NOTES_GET"); code != exitPeer || !strings.Contains(errs, "-max-reply") {
		t.Errorf("a record of 2 GiB: exit %d, %s", code, errs)
	}
}

// A reply that is cut off anywhere, or has one byte more, is refused. An empty record is the
// rejection by a full server: the call has not run.
func TestCallTruncatedReply(t *testing.T) {
	whole := func(xid uint32) []byte {
		return encoded(oncrpc.NewReply(xid, oncrpc.Success), 0, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, 0, 0, 0, 0, 3, 1, 2, 3, 0)
	}
	n := len(whole(0))
	for i := range n + 2 {
		addr := scripted(t, func(xid uint32) []byte { return append(whole(xid), 0)[:i] })
		code, out, errs := call("", "-W", "10s", "-d", `"a"`, notesFile, addr, "NOTES.NOTES_V1.NOTES_GET")
		switch {
		case i == n && code == exitDone && strings.Contains(out, "010203"):
		case i == 0 && code == exitFailed && out == "" && strings.Contains(errs, "the server is full"):
		case i == n || i == 0 || code != exitPeer || out != "" || errs == "":
			t.Errorf("%d of %d bytes: exit %d, %s%s", i, n, code, out, errs)
		}
	}
}

// A connection that is lost after the call was sent has its own code; one that cannot be made has
// the code of other commands.
func TestCallLost(t *testing.T) {
	closing := listener(t, func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, 40))
		c.Close()
	})
	code, out, _ := call("", "-json", "-d", `"a"`, notesFile, closing.Addr().String(), "NOTES.NOTES_V1.NOTES_GET")
	if o := objects(t, out); code != exitMayRun || len(o) != 1 || o[0]["may_have_run"] != true || o[0]["code"] != 6. {
		t.Errorf("closed after the call: exit %d, %s", code, out)
	}
	closed := listener(t, nil)
	closed.Close()
	if code, _, errs := call("", "-d", `"a"`, notesFile, closed.Addr().String(), "NOTES.NOTES_V1.NOTES_GET"); code != exitFailed || !strings.Contains(errs, "start the server") {
		t.Errorf("no server: exit %d, %s", code, errs)
	}
	if code, _, errs := call("", "-d", `"a"`, notesFile, "no-such-host.invalid:1", "NOTES.NOTES_V1.NOTES_GET"); code != exitFailed || !strings.Contains(errs, "check the name") {
		t.Errorf("no host: exit %d, %s", code, errs)
	}
	if code, out, _ := call("1\n\"a\"\n\"b\"\n", "-d", "-", notesFile, closed.Addr().String(), "NOTES.NOTES_V1.NOTES_GET"); code != exitInput || len(objects(t, out)) != 2 {
		t.Errorf("lines without a server: exit %d, %s", code, out)
	}
}

// An interrupt cancels a call that waits, and stops the reading of lines. Results that were printed
// stay.
func TestCallInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	sent := make(chan struct{})
	addr := scripted(t, func(uint32) []byte { close(sent); return nil })
	go func() { <-sent; cancel() }()
	var out, errs buffer
	args := []string{"call", "-W", "1m", "-d", `"a"`, notesFile, addr, "NOTES.NOTES_V1.NOTES_GET"}
	start := time.Now()
	code := run(ctx, args, environment{stdout: &out, stderr: &errs})
	if code != exitMayRun || !strings.Contains(errs.String(), "interrupted") || time.Since(start) > 50*time.Second {
		t.Errorf("exit %d: %s", code, errs.String())
	}

	ctx, cancel = context.WithCancel(context.Background())
	held := make(chan struct{})
	quiet := oncrpcServer(t, nil)
	args = []string{"call", "-carrier", "rdma", "-W", "1m", "-d", `"a"`, notesFile, quiet, "NOTES.NOTES_V1.NOTES_GET"}
	go func() { defer close(held); code = run(ctx, args, environment{stdout: &out, stderr: &errs}) }()
	cancel()
	<-held
	if code != exitFailed && code != exitMayRun { // before or after the call was sent
		t.Errorf("over RDMA: exit %d: %s", code, errs.String())
	}

	_, board, _ := servingNotes(t)
	ctx, cancel = context.WithCancel(context.Background())
	in, feed := io.Pipe()
	defer feed.Close()
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"call", "-d", "-", notesFile, board, "NOTES.NOTES_V1.NOTES_GET"}, environment{stdin: in, stdout: &out, stderr: &errs})
	}()
	fmt.Fprintln(feed, `"a"`)
	for !strings.Contains(out.String(), `"line":1`) {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if code := <-done; code != exitFailed || !strings.Contains(out.String(), "interrupted") {
		t.Errorf("lines: exit %d: %s", code, out.String())
	}
}
