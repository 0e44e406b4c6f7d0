package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// recorded is one end of a pipe, with its deadlines and with TCP addresses.
type recorded struct {
	net.Conn
	from   string // source address
	broken error  // of each Write, or nil

	mu     sync.Mutex
	all    []time.Time // deadlines of both directions
	writes []time.Time // of writes alone
	closed bool
}

// recordedPipe returns two connected ends.
func recordedPipe(t *testing.T) (*recorded, net.Conn) {
	here, there := net.Pipe()
	t.Cleanup(func() { there.Close() })
	there.SetReadDeadline(time.Now().Add(leak.Patience())) // a pipe that stays open fails the test
	return &recorded{Conn: here, from: "192.0.2.1"}, there
}

func (r *recorded) SetDeadline(at time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, at)
	return r.Conn.SetDeadline(at)
}

func (r *recorded) SetWriteDeadline(at time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes = append(r.writes, at)
	return r.Conn.SetWriteDeadline(at)
}

func (r *recorded) Write(b []byte) (int, error) {
	if r.broken != nil {
		return 0, r.broken
	}
	return r.Conn.Write(b)
}

func (r *recorded) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.Conn.Close()
}

func (r *recorded) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// limits returns the deadlines so far.
func (r *recorded) limits() (all, writes []time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all, r.writes
}

func (r *recorded) LocalAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP("198.51.100.1"), Port: 1}
}

func (r *recorded) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(r.from), Port: 2} }

// open returns the number of connections that the device knows, and of their sources.
func (d *Device) open() (conns, sources int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, sources = d.accepted.Len()
	return len(d.conns), sources
}

// hello is the first message of a toy client.
func hello() []byte { return (&toy{attrs: toyConfig(100).Attrs}).hello(0, &verbs.ConnParams{}) }

// A device has at most MaxConnections connections, and at most MaxPerSource from one source. One
// without a source counts for the device only. A connection that is dropped makes room.
func TestAdoptedConnectionsAreLimited(t *testing.T) {
	cfg := toyConfig(100)
	cfg.MaxConnections, cfg.MaxPerSource = 4, 2
	d := openToy(t, cfg)
	from := func(ip string) *admission.Source {
		s := admission.SourceAt(netip.MustParseAddr(ip))
		return &s
	}
	here, there := from("192.0.2.1"), from("192.0.2.2")
	var none *admission.Source
	conns := make([]*recorded, 8)
	for i := range conns {
		conns[i], _ = recordedPipe(t)
	}
	adopt := func(i int, from *admission.Source, want error) {
		t.Helper()
		if err := d.adopt(conns[i], from); err != want {
			t.Errorf("connection %d of %v: %v, want %v", i, from, err, want)
		}
	}
	adopt(0, here, nil)
	adopt(1, here, nil)
	adopt(2, here, errSourceFull)
	adopt(2, there, nil)
	adopt(3, there, nil)
	adopt(4, none, errFull)
	d.drop(conns[0])
	d.drop(conns[2])
	d.drop(conns[7]) // not one of the device's
	adopt(4, here, nil)
	adopt(5, here, errSourceFull)
	adopt(5, none, nil)
	d.drop(conns[3])
	d.drop(conns[1])
	adopt(6, none, nil)
	adopt(7, none, nil)
	if conns, sources := d.open(); conns != 4 || sources != 1 {
		t.Errorf("%d connections of %d sources, want 4 of 1", conns, sources)
	}
	for _, c := range conns {
		d.drop(c)
		if !c.isClosed() {
			t.Error("a connection is dropped, and open")
		}
	}
	if conns, sources := d.open(); conns != 0 || sources != 0 {
		t.Errorf("%d connections of %d sources are left", conns, sources)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	adopt(0, none, errDeviceGone)
}

// A connection whose set-up fails is closed and forgotten, by either side, and the error says why.
func TestFailedSetUpLeavesNoConnection(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	silent := func(net.Conn) {}
	for _, tt := range []struct {
		what string
		ctx  context.Context
		gone bool // the device is removed
		peer func(net.Conn)
		want error
	}{
		{what: "another protocol", peer: func(c net.Conn) { c.Write(make([]byte, toyHello)) }, want: errToy},
		{what: "the peer is gone", peer: func(c net.Conn) { c.Close() }, want: verbs.ErrPeerDisconnected},
		{what: "the context is canceled", ctx: canceled, peer: silent, want: context.Canceled},
		{what: "no room", peer: silent, want: errFull},
		{what: "a removed device", gone: true, peer: silent, want: errDeviceGone},
	} {
		for _, dials := range []bool{false, true} {
			if tt.gone && dials {
				continue // no queue pair is left
			}
			d := openToy(t, toyConfig(100))
			if tt.want == errFull {
				d.cfg.MaxConnections = 0
			}
			if tt.gone {
				d.Remove()
			}
			ctx := tt.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			conn, there := recordedPipe(t)
			var end sync.WaitGroup
			end.Go(func() {
				if dials { // its hello comes first
					if _, err := io.ReadFull(there, make([]byte, toyHello)); err != nil {
						return
					}
				}
				tt.peer(there)
			})
			var err error
			if dials {
				q := toyQP(t, d)
				_, err = d.DialConn(ctx, conn, q, nil)
				if q.State() != verbs.StateError {
					t.Errorf("%s: the queue pair is in %v", tt.what, q.State())
				}
			} else {
				_, err = d.AcceptConn(ctx, conn)
			}
			if !errors.Is(err, tt.want) || errors.Is(err, verbs.ErrQueueFull) != (tt.want == errFull || tt.gone) {
				t.Errorf("%s, dials %v: %v, want %v", tt.what, dials, err, tt.want)
			}
			if conns, _ := d.open(); conns != 0 || !conn.isClosed() {
				t.Errorf("%s, dials %v: %d connections are left, closed: %v", tt.what, dials, conns, conn.isClosed())
			}
			there.Close()
			end.Wait()
		}
	}
}

// toyQP returns a queue pair of a device.
func toyQP(t *testing.T, d *Device) *queuePair {
	t.Helper()
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := d.CreateCQ(8, nil)
	if err != nil {
		t.Fatal(err)
	}
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 2, MaxRecvWR: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closeAll(t, qp.Close, cq.Close, pd.Close, d.Close)
	})
	return qp.(*queuePair)
}

// within reports whether a deadline that was set since start is the limit's.
func within(at, start time.Time, limit time.Duration) bool {
	return !at.Before(start.Add(limit)) && !at.After(time.Now().Add(limit))
}

// The set-up of a server has the limit of HandshakeTimeout, from the first byte to the request, and
// again for the answer. A connection that is set up has no deadline.
func TestSetUpOfAServerHasADeadline(t *testing.T) {
	cfg := toyConfig(100)
	cfg.HandshakeTimeout = time.Hour
	server, client := openToy(t, cfg), openToy(t, cfg)
	conn, there := recordedPipe(t)
	dialed := make(chan error, 1)
	clientQP, serverQP := toyQP(t, client), toyQP(t, server)
	go func() {
		_, err := client.DialConn(t.Context(), there, clientQP, nil)
		dialed <- err
	}()
	start := time.Now()
	req, err := server.AcceptConn(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	if all, _ := conn.limits(); len(all) != 2 || !within(all[0], start, time.Hour) || !all[1].IsZero() {
		t.Errorf("the request: deadlines %v, want one in an hour and then none", all)
	}
	start = time.Now()
	if _, err := req.Accept(t.Context(), serverQP, nil); err != nil {
		t.Fatal(err)
	}
	if _, writes := conn.limits(); len(writes) < 2 || !within(writes[0], start, time.Hour) || !writes[1].IsZero() {
		t.Errorf("the answer: deadlines %v, want one in an hour and then none", writes)
	}
	if err := <-dialed; err != nil {
		t.Error(err)
	}
}

// A handshake of TLS has the same limit at the client, and leaves no deadline.
func TestHandshakeOfAClientHasADeadline(t *testing.T) {
	cfg := toyConfig(100)
	cfg.HandshakeTimeout, cfg.TLS, cfg.ALPN = time.Hour, tlstest.NewAuthority(t).Config(), "toy"
	d := openToy(t, cfg)
	conn, there := recordedPipe(t)
	client, server := d.secure.client(conn, "127.0.0.1:1"), d.secure.server(there).(*tlsConn)
	served := make(chan error, 1)
	go func() {
		err := server.Handshake(t.Context(), time.Now().Add(time.Hour))
		if err == nil {
			_, err = server.Read(make([]byte, 1)) // it ends with the connection
		}
		served <- err
	}()
	start := time.Now()
	if err := d.connectTLS(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	all, _ := conn.limits()
	if len(all) < 2 || !within(all[0], start, time.Hour) || !all[len(all)-1].IsZero() {
		t.Errorf("deadlines %v, want one in an hour, and at last zero", all)
	}
	conn.Close()
	<-served

	// A peer that closes.
	conn, there = recordedPipe(t)
	there.Close()
	open := func(context.Context) (net.Conn, error) { return d.secure.client(conn, "127.0.0.1:1"), nil }
	if _, err := d.dial(t.Context(), toyQP(t, d), nil, open); !errors.Is(err, verbs.ErrTLS) {
		t.Errorf("%v, want %v", err, verbs.ErrTLS)
	}
	if conns, _ := d.open(); conns != 0 || !conn.isClosed() {
		t.Errorf("%d connections are left, closed: %v", conns, conn.isClosed())
	}
}

// A queue pair that ends before its Dial can be canceled cancels it all the same.
func TestDialOfAQueuePairThatEnds(t *testing.T) {
	q, _ := loneQP(t)
	q.mu.Lock()
	q.ioCount = 1 // the end is not complete
	q.end(verbs.ErrDisconnected, Report{})
	q.mu.UnlockNotify()
	_, err := q.dev.dial(t.Context(), q, nil, func(ctx context.Context) (net.Conn, error) {
		if ctx.Err() == nil {
			t.Error("the Dial continues")
		}
		return nil, context.Canceled
	})
	if !errors.Is(err, verbs.ErrDisconnected) {
		t.Errorf("%v, want %v", err, verbs.ErrDisconnected)
	}
	q.mu.Lock()
	q.ioDone()
	q.mu.UnlockNotify()
}

// A Dial that is canceled when the set-up is done says goodbye to the peer.
func TestDialThatEndsLateSaysGoodbye(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cfg := toyConfig(100)
	shared := cfg.Framing.(*toy)
	canceled := make(chan struct{})
	cfg.Framing = framing{shared, func(f *toyFramer) Framer {
		context.AfterFunc(ctx, func() { close(canceled) })
		cancel()
		<-canceled
		return f
	}}
	d := openToy(t, cfg)
	q := toyQP(t, d)
	conn, there := recordedPipe(t)
	dialed := make(chan error, 1)
	go func() {
		_, err := d.DialConn(ctx, conn, q, nil)
		dialed <- err
	}()
	if _, err := io.ReadFull(there, make([]byte, toyHello)); err != nil {
		t.Fatal(err)
	}
	if _, err := there.Write(shared.hello(0, &verbs.ConnParams{})); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(there)
	if len(rest) != 2*(toyHeader+trailerSize) || err != nil {
		t.Fatalf("the peer has %d bytes, %v, want two frames", len(rest), err)
	}
	if last := rest[toyHeader+trailerSize:]; Kind(last[2]) != KindReport || Reason(last[7]) != ReasonGoodbye {
		t.Errorf("the last frame is % x, want a goodbye", last)
	}
	if err := <-dialed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Dial refuses an address without a port for good: no other attempt can succeed.
func TestDialOfAMalformedAddress(t *testing.T) {
	d := openToy(t, toyConfig(100))
	if _, err := d.Dial(t.Context(), "192.0.2.1", toyQP(t, d), nil); !errors.Is(err, verbs.ErrInvalidValue) {
		t.Errorf("%v, want %v", err, verbs.ErrInvalidValue)
	}
}

// Device.Close waits for last bytes that the peer takes, but not long. It closes the connections
// then.
func TestDeviceWaitsForLastBytes(t *testing.T) {
	for _, reads := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := openToy(t, toyConfig(100))
			conn, there := recordedPipe(t)
			if err := d.adopt(conn, nil); err != nil || !d.mayHangUp() {
				t.Fatal(err)
			}
			d.goroutines.Go(func() { newConn(d, conn).hangup([]byte("last")) })
			start, closed := time.Now(), make(chan struct{})
			go func() {
				d.Close()
				close(closed)
			}()
			synctest.Wait()
			if conn.isClosed() || d.mayHangUp() {
				t.Error("the connection is closed, or the device open")
			}
			got := make([]byte, 4)
			if reads {
				if _, err := io.ReadFull(there, got); err != nil || string(got) != "last" {
					t.Errorf("the peer has %q, %v", got, err)
				}
			}
			<-closed
			want := lingerWrite
			if reads {
				want = 0
			}
			if took := time.Since(start); took != want || !conn.isClosed() {
				t.Errorf("the peer reads: %v: closed after %v, want %v", reads, took, want)
			}
		})
	}
}

// Err returns nil until all reads and writes are complete.
func TestErrIsThatOfACompleteEnd(t *testing.T) {
	w := newWired(t, nil)
	w.mu.Lock()
	w.ioCount = 1
	w.end(verbs.ErrConnectionBroken, Report{})
	w.mu.UnlockNotify()
	if err := w.Err(); err != nil {
		t.Errorf("%v, in state %v", err, w.State())
	}
	disconnected := make(chan struct{})
	go func() {
		w.Disconnect()
		if w.State() != verbs.StateError {
			t.Errorf("Disconnect returns in state %v", w.State())
		}
		close(disconnected)
	}()
	w.mu.Lock()
	w.ioDone()
	w.mu.UnlockNotify()
	returns(t, "Disconnect", disconnected)
	if err := w.Err(); err != verbs.ErrConnectionBroken {
		t.Errorf("%v, want %v", err, verbs.ErrConnectionBroken)
	}
}
