package tcp

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlsstream"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// sink is a stream that takes all, and records the sizes of writes and their deadlines.
type sink struct {
	net.Conn
	sizes  []int
	limits []time.Time
}

func (s *sink) Write(b []byte) (int, error) { s.sizes = append(s.sizes, len(b)); return len(b), nil }

func (s *sink) SetWriteDeadline(limit time.Time) error {
	s.limits = append(s.limits, limit)
	return nil
}

// SendTimeout is for each write of 256 KiB, so no write has more.
func TestWritesAreOfBoundedSize(t *testing.T) {
	s := &sink{}
	c := bare(settings{})
	c.out.nc = s
	c.out.bufs = [][]byte{make([]byte, 600<<10)}
	if err := c.out.writeAll(); err != nil || len(s.sizes) != 3 || s.sizes[0] != batchBytes || s.sizes[2] != 600<<10-2*batchBytes {
		t.Errorf("writes of %d bytes, %v", s.sizes, err)
	}
}

// A write after the end of a connection has the deadline of the goodbye. If a Call of the batch was
// cancelled, the deadline has passed; otherwise it is about SendTimeout away.
func TestDeadlineOfWrites(t *testing.T) {
	const limit = time.Hour
	farewell := time.Now().Add(time.Minute)
	for _, tt := range []struct {
		what    string
		prepare func(c *Conn)
		want    func(now time.Time) (time.Time, bool)
	}{
		{"the first write", func(*Conn) {}, func(now time.Time) (time.Time, bool) { return now.Add(limit), true }},
		{"the goodbye", func(c *Conn) { c.out.farewell, c.out.hurry = farewell, true }, func(time.Time) (time.Time, bool) { return farewell, true }},
		{"a cancelled Call", func(c *Conn) { c.out.hurry = true }, func(time.Time) (time.Time, bool) { return longAgo, true }},
		{"a recent limit", func(c *Conn) { c.out.deadline = time.Now().Add(limit - limit/8) }, func(time.Time) (time.Time, bool) { return time.Time{}, false }},
		{"an old limit", func(c *Conn) { c.out.deadline = time.Now().Add(limit / 2) }, func(now time.Time) (time.Time, bool) { return now.Add(limit), true }},
		{"after a cancelled Call", func(c *Conn) {
			c.out.deadline, c.out.hurry = time.Now().Add(limit), true
			c.out.clearWriteDeadline()
			c.out.nc.(*sink).limits = nil
		}, func(now time.Time) (time.Time, bool) { return now.Add(limit), true }},
		{"another stream", func(c *Conn) {
			c.out.deadline = time.Now().Add(limit)
			c.in = records{}
			c.setStream(c.out.nc)
		}, func(now time.Time) (time.Time, bool) { return now.Add(limit), true }},
	} {
		s := &sink{}
		c := bare(settings{Config: Config{SendTimeout: limit}})
		c.out.nc = s
		tt.prepare(c)
		before := time.Now()
		c.out.setWriteDeadline()
		want, set := tt.want(before)
		switch {
		case !set && len(s.limits) == 0:
		case !set || len(s.limits) != 1 || s.limits[0].Before(want) || s.limits[0].After(want.Add(time.Since(before))):
			t.Errorf("%s: deadlines %v, want %v, set: %v", tt.what, s.limits, want, set)
		}
	}
}

// A Call that was answered keeps its reply if its context is done before the caller has looked.
func TestAnsweredCallIsNotAbandoned(t *testing.T) {
	c := bare(settings{})
	p := c.newPending().(*pending)
	p.call, p.over = &oncrpc.Call{Message: oncrpc.Message{Inline: make([]byte, 40)}}, true
	if c.giveUp(p, errors.New("late")); p.err != nil || c.abandoned.has(0) {
		t.Errorf("%v, abandoned: %v", p.err, c.abandoned.has(0))
	}
}

// A Request that enters the queue for a place after its connection was closed is dropped there,
// because fail has already dropped the others.
func TestRequestIsDroppedAfterTheEnd(t *testing.T) {
	c := bare(settings{})
	c.shared = newShared(1500, 0, 1)
	block, other := make(chan struct{}), bare(settings{})
	for _, conn := range []*Conn{c, other, other} { // each connection has one place more
		r := &request{conn: conn, ticket: conn.reserved.share.Ticket(0), handler: oncrpc.HandlerFunc(func(*oncrpc.Request) { <-block })}
		if !c.shared.places.Start(&conn.waiting, r) {
			t.Fatal("there is no place")
		}
	}
	c.cancel(io.EOF)
	c.requests = 1
	memory := []byte{}
	r := &request{conn: c, memory: &memory, ticket: c.reserved.share.Ticket(0)}
	r.out.request = r
	r.Responder = r
	r.Serve(nil)
	if !r.answered.Load() || c.unanswered() != 0 {
		t.Errorf("answered: %v, %d Requests are left", r.answered.Load(), c.unanswered())
	}
	close(block)
	for _, conn := range []*Conn{c, other} {
		c.shared.places.Leave(&conn.waiting)
	}
}

// The memory of a long reply that the caller's buffer has taken is not kept by the connection.
func TestLongReplyLeavesNoMemory(t *testing.T) {
	long := make([]byte, keepBytes+8)
	long[7] = byte(oncrpc.MsgReply)
	record := long
	c := bare(settings{})
	c.record = &record
	if err := c.dispatch(long); err != nil { // to no Call
		t.Fatal(err)
	}
	if n := cap(*c.record); n > keepBytes {
		t.Errorf("%d bytes are kept for the next record", n)
	}
}

// overTLS is a stream that has TLS already, as a *tls.Conn does.
type overTLS struct{ net.Conn }

func (overTLS) ConnectionState() tls.ConnectionState { return tls.ConnectionState{} }

// NewConn takes TLSRequired for a stream that has TLS already, and for no other.
func TestRequiredTLSIsThereAlready(t *testing.T) {
	for _, secured := range []bool{false, true} {
		ours, theirs := net.Pipe()
		nc := ours
		if secured {
			nc = overTLS{ours}
		}
		c := NewConn(nc, &Config{TLS: TLS{Mode: TLSRequired}})
		if err := c.Err(); (err == nil) != secured || err != nil && !errors.Is(err, ErrTLS) {
			t.Errorf("over TLS: %v: %v", secured, err)
		}
		_, _ = c.Close(), theirs.Close()
	}
}

// recording is a stream that records the last deadline of writes.
type recording struct {
	net.Conn
	limit time.Time
}

func (r *recording) SetWriteDeadline(limit time.Time) error {
	r.limit = limit
	return r.Conn.SetWriteDeadline(limit)
}

// Over TLS, a batch leaves no deadline behind: an answer that the reader sends removes it, and the
// next batch would count on it.
func TestBatchOverTLSLeavesNoDeadline(t *testing.T) {
	config := tlstest.NewAuthority(t).Config()
	config.ServerName = "server.example"
	config.SessionTicketsDisabled = true // the client reads nothing
	of, err := tlsstream.New(tlsstream.Options{Config: config, Protocol: sunrpc})
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	defer theirs.Close()
	stream := &recording{Conn: ours}
	read := make(chan error, 1)
	go func() {
		s := tls.Server(theirs, of.Config)
		_, err := io.ReadFull(s, make([]byte, 100))
		read <- err
	}()
	x := of.Client(stream, "")
	if err := x.Handshake(t.Context(), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	c := bare(settings{Config: Config{SendTimeout: time.Hour}})
	c.out.nc, c.out.tls, c.out.bufs = x, x, [][]byte{make([]byte, 100)}
	if err := errors.Join(c.out.writeAll(), <-read); err != nil {
		t.Fatal(err)
	}
	if !stream.limit.IsZero() || !c.out.deadline.IsZero() {
		t.Errorf("the stream has the deadline %v, and the writer counts on %v", stream.limit, c.out.deadline)
	}
	_ = ours.Close()
}
