package tcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// bare returns a connection without a stream or goroutines.
func bare(set settings) *Conn {
	c := &Conn{set: &set, shared: alone(), record: new([]byte)}
	c.join()
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// A batch has at most 256 messages, and takes no further one after 256 KiB.
func TestBatchBounds(t *testing.T) {
	for _, tt := range []struct{ messages, size, want int }{
		{1, 10, 1}, {256, 10, 256}, {257, 10, 256}, {600, 0, 256}, {10, 128 << 10, 2}, {10, 128<<10 - 1, 3}, {2, 1 << 20, 1},
	} {
		c := bare(settings{})
		c.out.writes = true
		data := make([]byte, tt.size)
		for range tt.messages {
			c.out.queue.push(&message{Message: oncrpc.Message{Inline: data}, request: &request{}})
		}
		total := 0
		for n := 0; c.out.take(); total += n {
			if n = len(c.out.batch); total == 0 && n != tt.want {
				t.Errorf("%d messages of %d bytes: %d in the first batch, want %d", tt.messages, tt.size, n, tt.want)
			}
			for _, m := range c.out.batch {
				if m.state != writing {
					t.Fatalf("a message of the batch is in state %d", m.state)
				}
			}
			if len(c.out.bufs) > 2*n {
				t.Fatalf("%d slices for %d messages", len(c.out.bufs), n)
			}
		}
		if total != tt.messages || c.out.writes {
			t.Errorf("%d of %d messages were taken, and writes is %v", total, tt.messages, c.out.writes)
		}
	}
}

// The memory in which a batch is copied is not kept after a long message.
func TestCopyOfLongMessage(t *testing.T) {
	c := bare(settings{})
	for _, size := range []int{4 << 20, 10} {
		c.out.bufs = [][]byte{make([]byte, size), make([]byte, 1)}
		c.out.copyBatch()
		if len(c.out.bufs) != 1 || len(c.out.bufs[0]) != size+1 {
			t.Errorf("%d slices of %d bytes", len(c.out.bufs), lengths(c.out.bufs))
		}
		if c.out.written(nil); cap(c.out.flat) > keepBytes {
			t.Errorf("%d bytes are kept for a copy of %d", cap(c.out.flat), size+1)
		}
	}
}

// A record waits for memory for RecordTimeout in total, even if too little memory is freed several
// times. It stops waiting when its connection is closed.
func TestReserveWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(c *Conn) (err error, took time.Duration) {
			start := time.Now()
			err = c.reserve(1000, true)
			return err, time.Since(start)
		}
		connection := func(timeout time.Duration) *Conn {
			c := bare(settings{Config: Config{RecordTimeout: timeout}})
			c.shared = newShared(6000, 0, 0)
			c.shared.budget.Take(4000)
			c.reserved.share = c.shared.budget.Join(admission.Source{Local: true})
			return c
		}
		c := connection(10 * time.Second)
		go func() {
			for range 4 {
				time.Sleep(6 * time.Second)
				c.shared.budget.Give(100)
			}
		}()
		if err, took := wait(c); !errors.Is(err, ErrLimit) || took != 10*time.Second || c.reserved.bytes != 0 {
			t.Errorf("too little: %v after %v, %d bytes", err, took, c.reserved.bytes)
		}
		time.Sleep(time.Minute)
		go func() { time.Sleep(6 * time.Second); c.shared.budget.Give(3500) }()
		if err, took := wait(c); err != nil || took != 6*time.Second || c.reserved.bytes != 1000 || c.shared.budget.Used() != 1100 {
			t.Errorf("enough: %v after %v, %d bytes", err, took, c.reserved.bytes)
		}
		c = connection(0)
		go func() { time.Sleep(time.Hour); c.cancel(ErrPeerClosed) }()
		if err, took := wait(c); err != ErrPeerClosed || took != time.Hour {
			t.Errorf("the end: %v after %v", err, took)
		}
		c = connection(0)
		c.calls.Put(1, &pending{})
		if err, took := wait(c); !errors.Is(err, ErrLimit) || took != 0 {
			t.Errorf("while called: %v after %v", err, took)
		}
		// The limit for the record that is read begins again after the wait.
		c = connection(time.Minute)
		var limit time.Time
		c.in = records{armed: true, timeout: time.Minute, deadline: func(at time.Time) { limit = at }}
		go func() { time.Sleep(50 * time.Second); c.shared.budget.Give(4000) }()
		if err, _ := wait(c); err != nil || !limit.Equal(time.Now().Add(time.Minute)) {
			t.Errorf("a record that waited: %v, limit in %v", err, time.Until(limit))
		}
		if err := c.reserve(0, true); err != nil {
			t.Errorf("nothing: %v", err)
		}
	})
}

// A connection that is down, or drains, serves no further Call. While this side makes a Call, the
// connection takes fewer than twice MaxRequests.
func TestEndedConnectionAdmitsNoCall(t *testing.T) {
	ended := errors.New("it has ended")
	for _, tt := range []struct {
		name            string
		requests, calls int
		bytes           int
		err             error
		draining        bool
		want            error
		admitted        bool
	}{
		{name: "idle", admitted: true},
		{name: "one less", requests: 9, admitted: true},
		{name: "ended", err: ended, want: ended},
		{name: "ended with as many", requests: 10, err: ended, want: ended},
		{name: "draining", draining: true},
		{name: "as many, called", requests: 10, calls: 1, admitted: true},
		{name: "one less than a client can make, called", requests: 1<<16 - 1, bytes: 512 << 20, calls: 1, admitted: true},
		{name: "as many as a client can make, called", requests: 1 << 16, calls: 1, want: ErrLimit},
		{name: "more than 512 MiB, called", requests: 10, bytes: 512<<20 + 1, calls: 1, want: ErrLimit},
	} {
		c := bare(settings{Config: Config{MaxRequests: 10}})
		c.requests, c.bytes, c.err, c.draining = tt.requests, tt.bytes, tt.err, tt.draining
		if tt.calls > 0 {
			c.calls.Put(1, &pending{})
		}
		ok, _, err := c.admit()
		if ok != tt.admitted || !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("%s: %v, %v", tt.name, ok, err)
		}
		want := tt.requests
		if tt.admitted {
			want++
		}
		if c.requests != want || (c.counts.droppedCalls == 1) != tt.draining {
			t.Errorf("%s: %d Requests, want %d, and %d dropped", tt.name, c.requests, want, c.counts.droppedCalls)
		}
	}
}

// What a connection answers to a probe that is not right, and to Calls without TLS (RFC 9289 §4.1,
// §6.1.2).
func TestCallsBeforeTLSAreScreened(t *testing.T) {
	words := func(list ...uint32) (b []byte) {
		for _, w := range list {
			b = append(b, byte(w>>24), byte(w>>16), byte(w>>8), byte(w))
		}
		return b
	}
	const authTLS = uint32(oncrpc.AuthTLS)
	wanted, required := &tlsSettings{TLS: TLS{Mode: TLSWanted}}, &tlsSettings{TLS: TLS{Mode: TLSRequired}}
	probe := words(1, 0, 2, 400001, 3, 0, authTLS, 0, 0, 0)
	call := words(1, 0, 2, 400001, 3, 0, 0, 0, 0, 0)
	for _, tt := range []struct {
		name            string
		call            []byte
		client, secured bool
		tls             *tlsSettings
		want            *oncrpc.ReplyError
		probe           bool
	}{
		{name: "probe", call: probe, tls: wanted, probe: true},
		{name: "probe, required", call: probe, tls: required, probe: true},
		{name: "probe without TLS here", call: probe, want: oncrpc.Refused(oncrpc.AuthStatRejectedCred)},
		{name: "probe to a client", call: probe, client: true, tls: wanted, want: oncrpc.Refused(oncrpc.AuthStatRejectedCred)},
		{name: "probe within TLS", call: probe, tls: required, secured: true, want: oncrpc.Refused(oncrpc.AuthStatBadCred)},
		{name: "probe of a procedure", call: words(1, 0, 2, 400001, 3, 1, authTLS, 0, 0, 0), tls: wanted, want: oncrpc.Refused(oncrpc.AuthStatBadCred)},
		{name: "body of the credential", call: words(1, 0, 2, 400001, 3, 0, authTLS, 4, 0, 0, 0), tls: wanted, want: oncrpc.Refused(oncrpc.AuthStatBadCred)},
		{name: "short", call: probe[:probeSize-4], tls: wanted, want: oncrpc.Refused(oncrpc.AuthStatBadCred)},
		{name: "flavour of the verifier", call: words(1, 0, 2, 400001, 3, 0, authTLS, 0, 1, 0), tls: wanted, want: oncrpc.Refused(oncrpc.AuthStatBadVerf)},
		{name: "body of the verifier", call: words(1, 0, 2, 400001, 3, 0, authTLS, 0, 0, 4, 0), tls: wanted, want: oncrpc.Refused(oncrpc.AuthStatBadVerf)},
		{name: "arguments", call: append(slices.Clone(probe), 0, 0, 0, 0), tls: wanted, want: &oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}},
		{name: "Call", call: call, tls: wanted},
		{name: "Call, required", call: call, tls: required, want: oncrpc.Refused(oncrpc.AuthStatTooWeak)},
		{name: "Call within TLS", call: call, tls: required, secured: true},
		{name: "Call to a client", call: call, tls: required, client: true},
		{name: "RPC version 3, required", call: words(1, 0, 3, 400001, 3, 0, authTLS, 0, 0, 0), tls: required, want: unavailable(words(1, 0, 3))},
	} {
		c := bare(settings{tls: tt.tls})
		c.accepted, c.secured = !tt.client, tt.secured
		got, probe := c.screen(tt.call)
		if probe != tt.probe || (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("%s: %+v, %v, want %+v, %v", tt.name, got, probe, tt.want, tt.probe)
		}
	}
}

// The defaults and bounds of ClientConfig are those that its comments state.
func TestClientConfig(t *testing.T) {
	got, err := (*ClientConfig)(nil).settled()
	if err != nil || got.DialTimeout != 10*time.Second || got.MinBackoff != 100*time.Millisecond || got.MaxBackoff != 30*time.Second ||
		got.IdleTimeout != 5*time.Minute || got.StuckTimeout != time.Minute || got.Connections != 1 || got.Retransmits != 4 || got.DialFailures != 0 || got.Dial == nil {
		t.Errorf("defaults %+v, %v", got, err)
	}
	got, err = (&ClientConfig{DialTimeout: -1, MinBackoff: -1, MaxBackoff: -1, IdleTimeout: -1, StuckTimeout: -1, Connections: -1, Retransmits: -1}).settled()
	if err != nil || got.DialTimeout != 0 || got.MinBackoff != 0 || got.MaxBackoff != 0 || got.IdleTimeout != 0 || got.StuckTimeout != 0 || got.Connections != 1 || got.Retransmits != 0 {
		t.Errorf("without limits %+v, %v", got, err)
	}
	if _, err := (&ClientConfig{MinBackoff: time.Minute}).settled(); err == nil {
		t.Error("pauses of a minute to 30 s")
	}
	for addr, own := range map[string]bool{"host": false, "host:": true, "host:1": true} {
		if c, err := NewClient(addr, nil); (err == nil) != own {
			t.Errorf("%q: %v", addr, err)
		} else if err == nil {
			_ = c.Close()
		}
	}
	c, err := NewClient("host", &ClientConfig{Dial: Dial})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

// lingering is a stream whose Read returns only when the test lets it.
type lingering struct {
	net.Conn
	release chan struct{}
}

func (l *lingering) Read([]byte) (int, error) { <-l.release; return 0, io.EOF }

// Close returns after the goroutine that reads has exited, so that the connection does not use the
// stream afterwards.
func TestCloseWaitsForReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		stream := &lingering{ours, make(chan struct{})}
		c := NewConn(stream, nil)
		closed := make(chan error, 1)
		go func() { closed <- c.Close() }()
		synctest.Wait()
		if len(closed) != 0 {
			t.Error("Close has returned while the stream is read")
		}
		close(stream.release)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// A Client's Close waits for the handlers of its connection.
func TestClientCloseWaitsForHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var server *Conn
		c, err := NewClient("", &ClientConfig{
			Conn: &Config{ReverseHandler: oncrpc.HandlerFunc(func(r *oncrpc.Request) { <-release; r.Drop(nil) })},
			Dial: func(_ context.Context, _ string, cfg *Config) (*Conn, error) {
				ours, theirs := net.Pipe()
				server = ServeConn(theirs, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
					r.Conn().AllowReverse()
					xid, _, _ := oncrpc.Peek(r.Message)
					b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
					r.Reply(oncrpc.Message{Inline: b}, nil)
				}), nil)
				return NewConn(ours, cfg), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Call(t.Context(), nullCall(t, 1)); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = server.Call(context.Background(), nullCall(t, 1)) }()
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- c.Close() }()
		synctest.Wait()
		if len(closed) != 0 {
			t.Error("Close has returned while a handler runs")
		}
		close(release)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		_ = server.Close()
	})
}

// Once a connection was made, errors of later Calls do not contain an earlier failure to connect.
func TestFailureEndsWithConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("no route")
		dials := 0
		var server *Conn
		c, err := NewClient("", &ClientConfig{WaitForServer: true, DialTimeout: -1, Dial: func(ctx context.Context, _ string, cfg *Config) (*Conn, error) {
			switch dials++; dials {
			case 1:
				return nil, failed
			case 2:
				ours, theirs := net.Pipe()
				server = ServeConn(theirs, nil, nil) // all Calls are refused, which is a reply
				return NewConn(ours, cfg), nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []error{nil, context.DeadlineExceeded} {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			_, err := c.Call(ctx, nullCall(t, 1))
			if !errors.Is(err, want) || want == nil && err != nil || errors.Is(err, failed) {
				t.Errorf("Call %d: %v", i, err)
			}
			stop()
			if i == 0 {
				_ = server.Close()
				synctest.Wait()
			}
		}
		_ = c.Close()
	})
}

// The defaults of Config are those that its comments state, and no limit exceeds what a record can
// have.
func TestConfigDefaults(t *testing.T) {
	got := (*Config)(nil).settle().Config
	got.Logger = nil
	want := Config{
		MaxCalls: 256, MaxRequests: 64, MaxHandlers: 256 * runtime.GOMAXPROCS(0), MaxRecord: 16<<20 + 64<<10, MaxReply: 16<<20 + 64<<10, MaxFragments: 16384,
		MaxMemory: 256 << 20, RecordTimeout: 30 * time.Second, SendTimeout: 30 * time.Second, FirstCallTimeout: 10 * time.Second,
		PeerTimeout: 30 * time.Second, IdleTimeout: 6 * time.Minute, MaxConns: 10000, AcceptRate: 5000,
	}
	if got != want {
		t.Errorf("found %+v, want %+v", got, want)
	}
	got = (&Config{MaxCalls: 1 << 20, MaxRecord: math.MaxInt}).settle().Config
	if got.MaxCalls != 1<<16 || got.MaxRecord != math.MaxInt32 {
		t.Errorf("%d Calls and records of %d bytes, want %d and %d", got.MaxCalls, got.MaxRecord, 1<<16, math.MaxInt32)
	}
	off := (&Config{RecordTimeout: -1, SendTimeout: -1, FirstCallTimeout: -1, PeerTimeout: -1}).settle()
	if off.RecordTimeout != 0 || off.SendTimeout != 0 || off.FirstCallTimeout != 0 || off.PeerTimeout != 0 {
		t.Errorf("%+v", off.Config)
	}
}

// Limits of Config that are off do not overflow in computations, for example when MaxRequests is
// doubled.
func TestLimitsOff(t *testing.T) {
	off := (&Config{MaxCalls: -1, MaxRequests: -1, MaxHandlers: -1, MaxRecord: -1, MaxFragments: -1, MaxMemory: -1, MaxConns: -1, AcceptRate: -1}).settle()
	if off.MaxCalls != 1<<16 || off.MaxRequests > math.MaxInt/2 || off.MaxRecord != math.MaxInt32 || off.MaxHandlers != 0 || off.AcceptRate != 0 ||
		off.MaxFragments != math.MaxInt || off.MaxMemory != math.MaxInt || off.MaxConns != math.MaxInt {
		t.Errorf("%+v", off.Config)
	}
}

// If a handler panics, or calls runtime.Goexit before it has answered, its connection is closed and
// its Request is dropped. A Goexit after the answer closes nothing.
func TestHandlerEndsBadly(t *testing.T) {
	for name, tt := range map[string]struct {
		handler func(r *oncrpc.Request)
		lost    bool
	}{
		"panic":               {func(*oncrpc.Request) { panic("out of coffee") }, true},
		"panic behind answer": {func(r *oncrpc.Request) { r.Drop(nil); panic("out of coffee") }, true},
		"end":                 {func(*oncrpc.Request) { runtime.Goexit() }, true},
		"end behind answer":   {func(r *oncrpc.Request) { r.Drop(nil); runtime.Goexit() }, false},
		"panic of the bound":  {nil, true},
	} {
		ours, theirs := net.Pipe()
		c := NewConn(ours, &Config{Logger: slog.New(slog.DiscardHandler)})
		drops := 0
		r := &request{conn: c, memory: new([]byte), ticket: c.reserved.share.Ticket(0)}
		r.out.request = r
		r.Responder, r.Message = r, nullCall(t, 7).Inline
		_, _, _ = c.admit()
		done := make(chan struct{})
		go func() {
			defer close(done)
			var h oncrpc.Handler = oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				r.Responder = &counting{r.Responder, &drops}
				tt.handler(r)
			})
			if tt.handler == nil {
				r.Responder, h = &counting{r.Responder, &drops}, unbounded{h}
			}
			r.handler = h
			r.handle(true)
		}()
		<-done
		if n := c.unanswered(); n != 0 || drops == 0 || tt.lost != errors.Is(c.Err(), oncrpc.ErrPanic) || tt.lost != (c.Err() != nil) {
			t.Errorf("%s: %d Requests are left, dropped %d times by way of the Responder, and the connection has %v", name, n, drops, c.Err())
			c.requests = 0 // Close would wait
		}
		_, _ = c.Close(), theirs.Close()
	}
}

// unbounded is a Handler that panics when it is asked for a bound.
type unbounded struct{ oncrpc.Handler }

func (unbounded) ReplyBound(_, _, _ uint32) int { panic("out of coffee") }

// counting is a Responder that a handler puts before the connection's.
type counting struct {
	oncrpc.Responder
	drops *int
}

func (c *counting) Drop(done func(error)) { *c.drops++; c.Responder.Drop(done) }

// When the system has given up a connection, a read may only find the end of the stream. It then
// waits for the write that got the reason, and takes no other error from that write.
func TestReasonOfWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timedOut := os.NewSyscallError("writev", syscall.ETIMEDOUT)
		for name, tt := range map[string]struct {
			writes, switching bool
			broken            error // after 10 ms
			ended             bool  // then
			want              error
			took              time.Duration
		}{
			"no write":      {want: io.EOF},
			"a handshake":   {writes: true, switching: true, want: io.EOF},
			"timed out":     {writes: true, broken: timedOut, want: timedOut, took: 10 * time.Millisecond},
			"reset":         {writes: true, broken: syscall.ECONNRESET, want: io.EOF, took: 10 * time.Millisecond},
			"ended":         {writes: true, ended: true, want: io.EOF, took: 10 * time.Millisecond},
			"a write waits": {writes: true, want: io.EOF, took: reasonTime},
		} {
			c := bare(settings{})
			c.out.writes, c.switching = tt.writes, tt.switching
			go func() {
				time.Sleep(10 * time.Millisecond)
				c.mu.Lock()
				defer c.mu.Unlock()
				if c.out.broken = tt.broken; tt.ended {
					c.err = oncrpc.ErrClosed
				}
				if tt.ended || tt.broken != nil {
					c.wake.Broadcast()
				}
			}()
			start := time.Now()
			if err := c.awaitWriter(io.EOF); err != tt.want || time.Since(start) != tt.took {
				t.Errorf("%s: %v after %v, want %v after %v", name, err, time.Since(start), tt.want, tt.took)
			}
			time.Sleep(time.Second)
		}
	})
}
