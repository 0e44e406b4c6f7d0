package udp

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// callTo returns a Call with an XID, which has more bytes.
func callTo(xid uint32, more int) []byte {
	b, _ := oncrpc.NewCall(xid, 1, 1, 1, oncrpc.None()).AppendBinary(nil)
	return append(b, make([]byte, more)...)
}

// replyOf returns a reply to a Call, which has more bytes.
func replyOf(xid uint32, more int) oncrpc.Message {
	b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
	return oncrpc.Message{Inline: append(b, make([]byte, more)...)}
}

var farPeer = netip.MustParseAddrPort("192.0.2.1:9")

func TestConfigHasItsDefaults(t *testing.T) {
	var none *Config
	if s := none.settle(); s.MaxCalls != 256 || s.MaxRequests != 256 || s.ReplyRate != 16<<10 || s.MinRetransmit != time.Second || s.MaxRetransmit != 16*time.Second {
		t.Errorf("%+v", s)
	}
	if s := (&Config{MaxCalls: -1, MinRetransmit: 20 * time.Second}).settle(); s.MaxCalls != 65536 || s.MaxRetransmit != 20*time.Second {
		t.Errorf("%+v", s)
	}
	if s := (&Config{MinRetransmit: -1}).settle(); s.MinRetransmit != 0 {
		t.Errorf("%+v", s)
	}
	// Without a Logger only faults of handlers are logged, to the default of the time.
	var log bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(old)
	s := none.settle()
	s.Logger.Error("a warning")
	s.faults.Error("a fault")
	if got := log.String(); !strings.Contains(got, "a fault") || strings.Contains(got, "a warning") {
		t.Errorf("%q", got)
	}
}

// After a panic the client's next Call has another Conn, which is up, with the same address to
// reply from. That Conn is down when the last Call is answered.
func TestConnAfterPanic(t *testing.T) {
	requests := make(chan *oncrpc.Request, 1)
	s := newServer(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if r.Message[3] == 2 {
			panic("out of coffee")
		}
		requests <- r
	}), &Config{Logger: slog.New(slog.DiscardHandler)})
	control := []byte("control")
	serve := func(xid uint32) *request {
		r := s.admit(xid, callTo(xid, 0), farPeer, s.local, control)
		r.Serve(s.handler)
		return r
	}
	first := serve(1)
	<-requests
	select {
	case <-serve(2).Conn().Done():
	case <-time.After(leak.Patience()):
		t.Error("the Conn of the panic is up")
	}
	third := serve(3)
	<-requests
	var panicked *oncrpc.PanicError
	if err := first.Conn().Err(); !errors.As(err, &panicked) || third.Conn().Err() != nil {
		t.Errorf("the Conn of the panic: %v, the next: %v", err, third.Conn().Err())
	}
	if string(third.peer.control) != "control" || third.peer.to != farPeer || third.Conn().RemoteAddr() != farPeer.String() {
		t.Errorf("the next Conn is %+v", third.peer)
	}
	if s.admit(1, callTo(1, 0), farPeer, s.local, control) != nil {
		t.Error("a Call in progress was admitted again")
	}
	third.Drop(nil)
	if third.Conn().Err() != nil {
		t.Error("the Conn is down, and a Call is in progress")
	}
	first.Drop(nil)
	select {
	case <-third.Conn().Done(): // when the handlers have returned, too
	case <-time.After(10 * time.Second):
	}
	if !errors.Is(third.Conn().Err(), ErrIdle) {
		t.Errorf("no Call is in progress: %v", third.Conn().Err())
	}
}

// Close waits for Requests to be answered and for handlers to return. It cancels their contexts
// with oncrpc.ErrClosed.
func TestCloseWaits(t *testing.T) {
	for _, late := range []bool{false, true} { // the answer, not the handler
		var done atomic.Bool
		began := make(chan bool)
		s := newServer(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			if !late {
				r.Drop(nil)
			}
			end := func() {
				<-r.Context().Done()
				if late && (!errors.Is(context.Cause(r.Context()), oncrpc.ErrClosed) || !errors.Is(r.Conn().Err(), oncrpc.ErrClosed)) {
					t.Errorf("the context ended with %v, the Conn with %v", context.Cause(r.Context()), r.Conn().Err())
				}
				time.Sleep(20 * time.Millisecond)
				done.Store(true)
				if late {
					r.Drop(nil)
				}
			}
			began <- true
			if late {
				go end()
				return
			}
			end()
		}), nil)
		r := s.admit(1, callTo(1, 0), farPeer, s.local, nil)
		r.Serve(s.handler)
		<-began
		if !late {
			s.stop(oncrpc.ErrClosed) // the context of an answered Request is done already
		}
		if err := s.Close(); err != nil || !done.Load() {
			t.Errorf("late %v: Close returned %v before the handler had done", late, err)
		}
	}
}

// The warning of a Close that waits has the address and the number of Requests without an answer.
func TestCloseWarningCountsRequests(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, nothing, &Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for xid := range uint32(2) {
		defer s.admit(xid, callTo(xid, 0), farPeer, s.local, nil).Drop(nil)
	}
	s.warnClose()
	if got := log.String(); !strings.Contains(got, "unanswered=2") || !strings.Contains(got, "at="+s.Addr()) {
		t.Errorf("%q", got)
	}
}

// A Request counts until its done function has returned, so Close waits for that.
func TestRequestCountsUntilDoneReturns(t *testing.T) {
	s := newServer(t, nothing, nil)
	for i, answer := range []func(r *request, done func(error)){
		func(r *request, done func(error)) { r.Drop(done) },
		func(r *request, done func(error)) { r.Reply(replyOf(r.xid, 0), done) },
	} {
		r := s.admit(uint32(i), callTo(uint32(i), 0), farPeer, s.local, nil)
		r.peer.to = s.local // where it arrives, and is ignored
		count := func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.requests
		}
		during := -1
		answer(r, func(error) { during = count() })
		if during != 1 || count() != 0 {
			t.Errorf("answer %d: %d Requests during done, %d afterwards, want 1 and 0", i, during, count())
		}
	}
}

// The error of a reverse Call has the Call's XID, or 0 if the Call has no message.
func TestReverseCallHasItsXID(t *testing.T) {
	p := newPeer(t.Context(), farPeer, farPeer, nil)
	for _, tt := range []struct {
		call *oncrpc.Call
		xid  uint32
	}{{&oncrpc.Call{Message: oncrpc.Message{Inline: callTo(77, 0)}}, 77}, {&oncrpc.Call{}, 0}, {nil, 0}} {
		_, err := p.Call(t.Context(), tt.call)
		ce, ok := errors.AsType[*oncrpc.CallError](err)
		if !ok || ce.XID != tt.xid || ce.MayHaveRun || !errors.Is(err, oncrpc.ErrReverse) {
			t.Errorf("%v: %v", tt.call, err)
		}
	}
}

// A host is one source whatever its zone, and IPv4 in IPv6 is printed as IPv4.
func TestZonesAndMappedAddresses(t *testing.T) {
	s := newServer(t, nothing, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.source(netip.MustParseAddr("fe80::1%eth0"), now) != s.source(netip.MustParseAddr("fe80::1%eth1"), now) {
		t.Error("two zones are two sources")
	}
	if got := text(netip.MustParseAddrPort("[::ffff:192.0.2.1]:9")); got != "192.0.2.1:9" {
		t.Error(got)
	}
}

// Replies that are no longer than their Calls are always sent, and the longest message is. A
// reply that the system does not send is an error.
func TestReplySizes(t *testing.T) {
	s := newServer(t, nothing, &Config{ReplyRate: 100, Logger: slog.New(slog.DiscardHandler)})
	sink, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	answer := func(call, reply int, to netip.AddrPort) (result error) {
		r := s.admit(7, callTo(7, call), farPeer, s.local, nil)
		if results, most := r.Room(); results != nil || most != MaxMessage || r.peer.Network() != "udp" {
			t.Errorf("Room is %v, %d", results, most)
		}
		r.peer.to = to
		r.Reply(replyOf(7, reply), func(err error) { result = err })
		return result
	}
	to := sink.LocalAddr().(*net.UDPAddr).AddrPort()
	for range 10 {
		if err := answer(1000, 1000, to); err != nil {
			t.Fatalf("a reply that is not longer than its Call: %v", err)
		}
	}
	if err := answer(0, 4, netip.MustParseAddrPort("[2001:db8::1]:9")); err == nil || errors.Is(err, ErrRate) {
		t.Errorf("a reply to an address that the socket cannot reach: %v", err)
	}
	if err := answer(0, MaxMessage&^3-24, to); err != nil {
		t.Errorf("a reply of %d bytes: %v", MaxMessage&^3, err)
	}
}

// dropped is a Responder that a handler puts before the server's.
type dropped struct {
	oncrpc.Responder
	drops chan bool
}

func (d *dropped) Drop(done func(error)) { d.Responder.Drop(done); d.drops <- true }

// A Request whose handler panicked is dropped by way of the Responders that it has put before. If a
// handler exits its goroutine after it has answered, the Conn stays up.
func TestPanicAndGoexit(t *testing.T) {
	drops, exits := make(chan bool, 1), make(chan bool)
	s := newServer(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if r.Message[3] == 1 {
			r.Responder = &dropped{r.Responder, drops}
			panic("out of coffee")
		}
		r.Drop(nil)
		defer close(exits)
		runtime.Goexit()
	}), &Config{Logger: slog.New(slog.DiscardHandler)})
	s.admit(1, callTo(1, 0), farPeer, s.local, nil).Serve(s.handler)
	<-drops
	held := s.admit(3, callTo(3, 0), farPeer, s.local, nil)
	defer held.Drop(nil)
	s.admit(2, callTo(2, 0), farPeer, s.local, nil).Serve(s.handler)
	<-exits
	// The goroutine has not necessarily ended.
	for deadline := time.Now().Add(20 * time.Millisecond); time.Now().Before(deadline); runtime.Gosched() {
		if err := held.Conn().Err(); err != nil {
			t.Fatalf("the Conn ended: %v", err)
		}
	}
}

// A client waits for one of MaxCalls to end, for the context or for Close, before it sends a Call.
func TestClientWaitsForOneOfMaxCalls(t *testing.T) {
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	c, err := Dial(t.Context(), server.LocalAddr().String(), &Config{MaxCalls: 1, MinRetransmit: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	call := func(ctx context.Context, xid uint32) chan error {
		ended := make(chan error, 1)
		go func() {
			_, err := c.Call(ctx, &oncrpc.Call{Message: oncrpc.Message{Inline: callTo(xid, 0)}})
			ended <- err
		}()
		return ended
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := call(ctx, 1)
	if _, err := server.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	notSent := func(err, want error) {
		t.Helper()
		var ce *oncrpc.CallError
		if !errors.Is(err, want) || !errors.As(err, &ce) || ce.MayHaveRun {
			t.Errorf("%v, want %v, and the Call not sent", err, want)
		}
	}
	second, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	notSent(<-call(second, 2), context.DeadlineExceeded)
	third := call(t.Context(), 3)
	time.Sleep(20 * time.Millisecond) // it waits
	c.down(oncrpc.ErrClosed)
	notSent(<-third, oncrpc.ErrClosed)
	cancel()
	<-first
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls.Len() != 0 || c.places != 0 {
		t.Errorf("%d Calls and %d places are left", c.calls.Len(), c.places)
	}
}

// The time between transmissions doubles.
func TestRetransmissionsSlowDown(t *testing.T) {
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	c, err := Dial(t.Context(), server.LocalAddr().String(), &Config{MinRetransmit: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	began := time.Now()
	go c.Call(t.Context(), &oncrpc.Call{Message: oncrpc.Message{Inline: callTo(1, 0)}})
	for range 8 {
		if _, err := server.Read(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took < 127*time.Millisecond { // 1 + 2 + 4 + ... + 64
		t.Errorf("8 transmissions in %v", took)
	}
}

// A reply is in ReplyBuf only if it fits, and no items of an earlier one are left. One that comes
// at the time when the Call is given up counts.
func TestReplyMemory(t *testing.T) {
	s := newServer(t, nothing, nil)
	c, err := Dial(t.Context(), s.Addr(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	memory := bytes.Repeat([]byte{'x'}, 100)
	made := &oncrpc.Call{Message: oncrpc.Message{Inline: callTo(1, 0)}, ReplyBuf: memory[:10]}
	made.Reply.Items = []xdr.Item{{Data: []byte("of an earlier reply")}}
	p, err := c.begin(t.Context(), made, nil)
	if err != nil {
		t.Fatal(err)
	}
	reply := replyOf(1, 0).Inline
	c.receive(reply)
	if got := made.Reply; !bytes.Equal(got.Message, reply) || len(got.Items) != 0 || bytes.Count(memory, []byte{'x'}) != 100 {
		t.Errorf("%+v, and the memory is %q", got, memory)
	}
	c.mu.Lock()
	c.abandon(p, ErrIdle)
	c.mu.Unlock()
	if <-p.done; len(p.done) != 0 || p.err != nil {
		t.Errorf("the reply has come: %v", p.err)
	}
}
