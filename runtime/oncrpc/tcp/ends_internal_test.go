package tcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// scripted is a stream whose writes have the results that the test sends.
type scripted struct {
	net.Conn
	results chan error
}

func (s *scripted) Write(b []byte) (int, error) {
	if err := <-s.results; err != nil {
		return 0, err
	}
	return len(b), nil
}

// A Request is not served after a write has failed, whether it waited until replies are written or
// comes later. The connection fails a second after the write, when its reader does not know why.
func TestRequestIsNotServedAfterAFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		stream := &scripted{theirs, make(chan error)}
		gate := make(chan struct{})
		var held []*oncrpc.Request
		h := oncrpc.HandlerFunc(func(r *oncrpc.Request) { held = append(held, r); <-gate })
		set := (&Config{Logger: slog.New(slog.DiscardHandler)}).settle()
		c := newConn(stream, &set, true, h, newShared(1<<30, 0, 2))
		xid := uint32(0)
		call := func() {
			xid++
			b := nullCall(t, xid).Inline
			if _, err := ours.Write(append(appendMark(nil, len(b)), b...)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for range 6 {
			call()
		}
		if len(held) != 3 {
			t.Fatalf("%d handlers run, want 3", len(held))
		}
		for _, r := range held {
			xid, _, _ := oncrpc.Peek(r.Message)
			b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
			// Others run before the memory of the reply is given back.
			r.Reply(oncrpc.Message{Inline: append(b, make([]byte, maxUnsent/2)...)}, func(error) { time.Sleep(time.Millisecond) })
			synctest.Wait()
		}
		close(gate)
		synctest.Wait()
		for range maxUnsent/2/batchBytes + 1 {
			stream.results <- nil // the first reply; the others still fill the connection
		}
		time.Sleep(10 * time.Millisecond)
		if len(held) != 3 || c.unanswered() != 5 {
			t.Fatalf("%d Requests were served and %d are not answered, want 3 and 5", len(held), c.unanswered())
		}
		stream.results <- syscall.EPIPE
		time.Sleep(10 * time.Millisecond)
		if len(held) != 3 {
			t.Errorf("%d Requests that waited were served", len(held)-3)
		}
		call()
		if len(held) != 3 {
			t.Errorf("a Request that came after the failed write was served: %d in all", len(held))
		}
		if c.Err() != nil {
			t.Errorf("the connection has failed already: %v", c.Err())
		}
		for _, r := range held[3:] { // else Close would wait
			r.Drop(nil)
		}
		_, _ = c.Close(), ours.Close()
	})
}

// Close waits for a Call that was counted, even if there is no memory for it, until forget uncounts
// it.
func TestForgottenCallEndsTheWaitOfClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := bare(settings{})
		c.requests, c.err = 1, ErrPeerClosed
		ended := false
		go func() { c.finish(); ended = true }()
		synctest.Wait()
		if ended {
			t.Error("the wait is over while a Call is counted")
		}
		c.forget()
		synctest.Wait()
		if !ended {
			t.Error("Close still waits although the Call was forgotten")
			c.wake.Broadcast()
		}
	})
}

// A read that waits for the reason of a failed write gets it before the done functions of the batch
// are called, which may block.
func TestReasonOfWriteDoesNotWaitForDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timedOut := os.NewSyscallError("write", syscall.ETIMEDOUT)
		ours, theirs := net.Pipe()
		defer theirs.Close()
		stream := &scripted{ours, make(chan error)}
		c := bare(settings{})
		c.out.nc = stream
		c.log, c.requests = slog.New(slog.DiscardHandler), 1
		memory := []byte{}
		r := &request{conn: c, memory: &memory, ticket: c.reserved.share.Ticket(0), done: func(error) { time.Sleep(time.Minute) }}
		r.out.request = r
		r.out.Message = oncrpc.Message{Inline: make([]byte, 24)}
		c.mu.Lock()
		c.enqueue(&r.out)
		c.mu.Unlock()
		go func() { stream.results <- timedOut }()
		start := time.Now()
		if err := c.awaitWriter(io.EOF); err != timedOut || time.Since(start) != 0 {
			t.Errorf("%v after %v, want %v at once", err, time.Since(start), timedOut)
		}
		c.wg.Wait()
	})
}

// The end of a connection wakes the goroutine that reads, whatever it waits for.
func TestEndWakesTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c := bare(settings{})
		c.out.nc, c.log, c.out.writes = ours, slog.New(slog.DiscardHandler), true
		time.AfterFunc(time.Millisecond, func() { c.fail(oncrpc.ErrClosed) })
		start := time.Now()
		if err := c.awaitWriter(io.EOF); err != io.EOF || time.Since(start) != time.Millisecond {
			t.Errorf("%v after %v, want %v after 1 ms", err, time.Since(start), io.EOF)
		}
		_ = theirs.Close()
	})
}

// Both ends remove the deadline of the TLS handshake afterwards, and a server that drains waits for
// its handlers as it does without TLS.
func TestHandshakeLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := tlstest.NewAuthority(t).Config()
		config.ServerName = "server.example"
		cfg := &Config{FirstCallTimeout: -1, TLS: TLS{Mode: TLSRequired, Config: config, HandshakeTimeout: time.Second}}
		ours, theirs := net.Pipe()
		requests := make(chan *oncrpc.Request, 1)
		server := ServeConn(theirs, oncrpc.HandlerFunc(func(r *oncrpc.Request) { requests <- r }), cfg)
		set := cfg.settle()
		if err := set.settleTLS(false); err != nil {
			t.Fatal(err)
		}
		stream, err := set.tls.startTLS(t.Context(), ours, "server.example:1", &set)
		if err != nil {
			t.Fatal(err)
		}
		client := newConn(stream, &set, false, nil, alone())
		time.Sleep(time.Minute)
		called := make(chan error, 1)
		go func() {
			_, err := client.Call(context.Background(), nullCall(t, 1))
			called <- err
		}()
		synctest.Wait()
		if len(requests) == 0 {
			t.Fatalf("the Call was not served: the client has %v, the server %v", client.Err(), server.Err())
		}
		go server.drain()
		synctest.Wait()
		r := <-requests
		b, _ := oncrpc.NewReply(1, oncrpc.Success).AppendBinary(nil)
		r.Reply(oncrpc.Message{Inline: b}, nil)
		if err := <-called; err != nil {
			t.Error(err)
		}
		_, _ = client.Close(), server.Close()
	})
}

// A Backchannel sends a Call again as often as its configuration says. If Retransmits is negative,
// it sends the Call once.
func TestBackchannelConfig(t *testing.T) {
	for set, want := range map[int]int{0: 4, 1: 1, 9: 9, -1: 0} {
		if b := NewBackchannel(&BackchannelConfig{Retransmits: set}); b.retrier.Losses != want {
			t.Errorf("Retransmits %d: sent again %d times, want %d", set, b.retrier.Losses, want)
		}
	}
}

// An answer is released once, although its batch may be given back before the rest of the batch is
// written: when a Call in it was cancelled.
func TestAnswersOfABatchAreReleasedOnce(t *testing.T) {
	c := bare(settings{})
	memory, released := []byte{}, 0
	r := &request{conn: c, memory: &memory, ticket: c.reserved.share.Ticket(0), done: func(error) { released++ }}
	r.out.request = r
	c.out.batch = []*message{{request: r}, {call: &pending{call: new(oncrpc.Call)}}}
	c.requests = 1
	c.out.written(nil)
	c.out.written(nil)
	if released != 1 || c.requests != 0 || len(c.out.batch) != 0 {
		t.Errorf("released %d times, %d Requests and %d messages are left", released, c.requests, len(c.out.batch))
	}
}

// After a wait for memory, the peer has FirstCallTimeout again for its first message.
func TestFirstMessageHasItsTimeAfterAWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		set := (&Config{FirstCallTimeout: time.Second, RecordTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)}).settle()
		c := newConn(theirs, &set, true, nil, newShared(6<<20, 0, 2))
		defer c.Close()
		defer ours.Close()
		const step = 64 << 10
		for c.reserved.share.Take(step, nil) {
		}
		waited := make(chan error, 1)
		go func() { waited <- c.shared.awaitMemory(c, step) }()
		time.Sleep(10 * time.Second)
		if c.Err() != nil {
			t.Fatalf("during the wait: %v", c.Err())
		}
		c.reserved.share.Give(step)
		if err := <-waited; err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !errors.Is(c.Err(), ErrTimeout) {
			t.Errorf("a second after the wait: %v, want ErrTimeout", c.Err())
		}
	})
}
