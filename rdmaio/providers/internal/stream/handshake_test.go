package stream

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The set-up reads as many bytes as it asks for, wherever the buffer has them, and at most
// HandshakeInput at a time. If the stream closes before, the error counts the bytes that came.
func TestSetUpReadsWhatItNeeds(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	here.SetDeadline(time.Now().Add(leak.Patience()))
	sent := make([]byte, 3*HandshakeInput)
	for i := range sent {
		sent[i] = byte(i * 7)
	}
	go func() {
		there.Write(sent)
		there.Close()
	}()
	c := newConn(openToy(t, toyConfig(100)), here)
	at := 0
	for _, n := range []int{1, HandshakeInput - 1, 100, HandshakeInput, HandshakeInput / 2, 1} {
		for range 2 { // Need consumes nothing
			b, err := c.Need(n)
			if err != nil || !bytes.Equal(b, sent[at:at+n]) {
				t.Fatalf("%d bytes at %d: other bytes, %v", n, at, err)
			}
		}
		c.Skip(n)
		at += n
	}
	if _, err := c.Need(HandshakeInput + 1); err == nil || !strings.Contains(err.Error(), "needs 2049 bytes, want at most 2048") {
		t.Errorf("a message that is too long: %v", err)
	}
	left := len(sent) - at
	for n := min(left, HandshakeInput); left > 0; n = min(left, HandshakeInput) {
		if _, err := c.Need(n); err != nil {
			t.Fatal(err)
		}
		c.Skip(n)
		left -= n
	}
	if _, err := c.Need(1); !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "after 0 bytes") {
		t.Errorf("after the last byte: %v", err)
	}
}

// A client that is gone before the answer is counted and logged, since many may be an attack. A
// queue pair that cannot be accepted is not.
func TestClientThatIsGoneIsLogged(t *testing.T) {
	for _, gone := range []bool{false, true} {
		out := new(lines)
		cfg := toyConfig(100)
		cfg.Logger = slog.New(slog.NewTextHandler(out, nil))
		d := openToy(t, cfg)
		q := toyQP(t, d)
		conn, there := recordedPipe(t)
		go there.Write(hello())
		req, err := d.AcceptConn(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		want := verbs.ErrPeerDisconnected
		if gone {
			conn.broken = syscall.ECONNRESET
		} else {
			q.Disconnect()
			want = verbs.ErrInvalidState
		}
		if _, err := req.Accept(t.Context(), q, nil); !errors.Is(err, want) {
			t.Errorf("gone %v: %v, want %v", gone, err, want)
		}
		if s := d.Stats(); (s.RefusedHandshake == 1) != gone || strings.Contains(out.text.String(), "connection refused") != gone {
			t.Errorf("gone %v: %+v, log %q", gone, s, out.text.String())
		}
		if !gone {
			req.Reject(nil)
		}
	}
}

// The log has connections that broke, with the reason, and not those that were closed in order.
func TestBrokenConnectionsAreLogged(t *testing.T) {
	for _, tt := range []struct {
		why  error
		want int
	}{{verbs.ErrDisconnected, 0}, {verbs.ErrPeerDisconnected, 0}, {verbs.ErrConnectionBroken, 1}} {
		out := new(lines)
		w := newWired(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(out, nil)) })
		w.mu.Lock()
		w.end(tt.why, Report{})
		w.mu.UnlockNotify()
		w.logEnd(w.c)
		text := out.text.String()
		if strings.Count(text, `msg="connection broken"`) != tt.want || strings.Contains(text, tt.why.Error()) != (tt.want == 1) {
			t.Errorf("%v: log %q", tt.why, text)
		}
	}
}

// A Receive without memory has nothing of the one that had its slot before.
func TestReceiveWithoutMemoryHasNoList(t *testing.T) {
	w := newWired(t, func(c *Config) { c.Attrs.LendReceives = true })
	for range ringStart { // each slot
		w.receive(t, 8)
	}
	w.mu.Lock()
	for range ringStart {
		*w.messages.next() = message{done: true}
		w.messages.push()
	}
	w.completeRecvs()
	w.mu.UnlockNotify()
	if _, err := w.PostRecv([]verbs.RecvWR{{Lend: 100}}); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.rq.at(w.rq.head); r.sgl != nil || len(r.list()) != 0 || r.total != 100 {
		t.Errorf("a list of %d elements, %d bytes, want none and 100", len(r.list()), r.total)
	}
}
