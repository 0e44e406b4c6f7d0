package udp

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// script reads the steps of a fuzzed peer.
type script []byte

// byte returns the next byte, or 0 at the end.
func (s *script) byte() (b byte) {
	if len(*s) > 0 {
		b, *s = (*s)[0], (*s)[1:]
	}
	return b
}

// bytes returns the next n bytes, or as many as are left.
func (s *script) bytes(n int) []byte {
	n = min(n, len(*s))
	b := (*s)[:n:n]
	*s = (*s)[n:]
	return b
}

// The peers of FuzzServer. Two have one address, two are in one network of IPv6, one has no port.
var fuzzPeers = []netip.AddrPort{
	netip.MustParseAddrPort("192.0.2.1:9"), netip.MustParseAddrPort("192.0.2.1:10"),
	netip.MustParseAddrPort("[::ffff:192.0.2.2]:9"), netip.MustParseAddrPort("[2001:db8::1]:9"),
	netip.MustParseAddrPort("[2001:db8::2]:9"), netip.MustParseAddrPort("127.0.0.1:9"),
	netip.MustParseAddrPort("192.0.2.3:9"), netip.MustParseAddrPort("192.0.2.4:0"),
}

// network returns what the server counts as a source: an IPv4 address or an IPv6 /64.
func network(a netip.AddrPort) string {
	ip := a.Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	return ip.String()[:len("2001:db8::")]
}

// fuzzServer is a server whose Requests a fuzz target answers. Its replies come to sink.
type fuzzServer struct {
	*Server
	sink   *net.UDPConn
	served chan *oncrpc.Request
	panics bool
}

const (
	fuzzRequests = 5    // Config.MaxRequests
	fuzzRate     = 2000 // Config.ReplyRate
)

func newFuzzServer(f *testing.F, addr string) *fuzzServer {
	sink, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = sink.Close() })
	s := &fuzzServer{sink: sink, served: make(chan *oncrpc.Request, 1)}
	s.Server, err = Listen(f.Context(), addr, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		p := r.Responder.(*request).peer
		p.to = sink.LocalAddr().(*net.UDPAddr).AddrPort() // the peers are not there
		p.control = nil
		if s.panics {
			panic("out of coffee")
		}
		s.served <- r
	}), &Config{MaxRequests: fuzzRequests, ReplyRate: fuzzRate, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Logf("without a server at %s: %v", addr, err)
		return nil
	}
	f.Cleanup(func() { _ = s.Close() })
	return s
}

// held is a Request that is not answered yet.
type held struct {
	request *oncrpc.Request
	peer    netip.AddrPort
	xid     uint32
	local   string
	size    int
}

// fuzzRun is one execution of FuzzServer, with what the server must do.
type fuzzRun struct {
	t     *testing.T
	s     *fuzzServer
	held  []held
	conns []oncrpc.Conn // of the Requests so far
	want  ServerStats
	began time.Time
	sent  map[string]int // bytes by which replies exceed their Calls, by network
}

// FuzzServer passes datagrams of several peers to a server and answers the Requests in any order
// and form. The server passes each Call to the handler as it came, within its limits, sends at most
// one reply for each, within the rate of its source, and keeps nothing of a Call that is answered.
//
//fuzz:floor 1500 it starts goroutines, and sends datagrams
func FuzzServer(f *testing.F) {
	whole, _ := oncrpc.NewCall(5, 1, 1, 1, oncrpc.None()).AppendBinary(nil)
	answer, _ := oncrpc.NewReply(5, oncrpc.Success).AppendBinary(nil)
	raw := func(b []byte) []byte { return append([]byte{0, byte(len(b))}, b...) }
	for _, b := range [][]byte{
		raw(whole), raw(answer), raw(whole[:39]), raw(append(whole[:40:40], answer...)),
		{0x08, 1, 0x08, 1, 0x10, 0, 0}, // the same Call again while it is in progress
		{0x08, 1, 0x09, 1, 0x0a, 1, 0x0b, 1, 0x0c, 1, 0x0d, 1, 0x08, 2, 0x08, 3, 0x08, 4, 0x0e, 5},
		{0x08, 1, 0x10, 0, 255, 0x08, 1, 0x10, 0, 255, 0x08, 1, 0x10, 0, 255},
		{0x08, 1, 0x10, 0, 4, 0x0e, 1, 0x10, 0, 255}, {0x0d, 1, 0x10, 0, 255, 0x0d, 2, 0x10, 0, 5},
		{0x18, 1, 0x08, 1, 0x18, 2, 0x08, 1, 0x10, 0, 0}, {0x08, 1, 0x10, 0, 1}, {0x08, 1, 0x10, 0, 2}, {0x0f, 1}, {0x08, 1, 0x08, 2, 0x10, 1, 3},
	} {
		f.Add(false, []byte(nil), b)
		f.Add(true, []byte("\x1c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x02\x00\x00\x00\xc0\x00\x02\x09\xc0\x00\x02\x09\x00\x00\x00\x00"), b)
	}
	named, wildcard := newFuzzServer(f, "127.0.0.1:0"), newFuzzServer(f, "0.0.0.0:0")
	f.Fuzz(func(t *testing.T, wild bool, control, b []byte) {
		s := named
		if wild && wildcard != nil {
			s = wildcard
		}
		s.mu.Lock()
		clear(s.sources)
		s.stats = ServerStats{}
		s.mu.Unlock()
		r := &fuzzRun{t: t, s: s, began: time.Now(), sent: make(map[string]int)}
		defer r.abandon()
		for steps := script(b); len(steps) > 0; {
			op := steps.byte()
			switch from := fuzzPeers[op&7]; op >> 3 & 3 {
			case 0: // any datagram
				r.receive(steps.bytes(int(steps.byte())), control, from, false)
			case 1, 3: // a Call, which the handler holds or panics for
				call, _ := oncrpc.NewCall(uint32(steps.byte()), 1, 1, 1, oncrpc.None()).AppendBinary(nil)
				r.receive(call, control, from, op>>3&3 == 3)
			case 2:
				r.answer(int(steps.byte()), int(steps.byte()))
			}
		}
		for len(r.held) > 0 {
			r.answer(0, 3)
		}
		r.empty()
	})
}

// receive passes a datagram to the server, and checks the result.
func (r *fuzzRun) receive(b, control []byte, from netip.AddrPort, panics bool) {
	s := r.s
	local, ok := s.local, true
	if s.wildcard {
		local, _, ok = localOf(control, s.local.Port())
	}
	xid, typ, isMessage := oncrpc.Peek(b)
	expected := false
	ofSource, same := 0, false
	for _, h := range r.held {
		if network(h.peer) == network(from) {
			ofSource++
		}
		same = same || h.peer == from && h.xid == xid && h.local == text(local)
	}
	switch {
	case !ok || !isMessage || typ != oncrpc.MsgCall || len(b) < 40 || from.Port() == 0:
		r.want.Garbage++
	case same:
		r.want.Repeated++
	case ofSource >= fuzzRequests-len(r.held):
		r.want.Excess++
	default:
		r.want.Calls++
		expected = true
	}
	s.panics = panics
	in := bytes.Clone(b)
	s.receive(in, control, from)
	for i := range in {
		in[i] = ^in[i] // the reader's memory is used again
	}
	if got := s.Stats(); got != r.want {
		r.t.Fatalf("%x of %v, %d Requests held: %+v, want %+v", b, from, len(r.held), got, r.want)
	}
	if !expected {
		return
	}
	if panics {
		for s.unanswered() > len(r.held) {
			runtime.Gosched()
		}
		return
	}
	got := <-s.served
	r.held = append(r.held, held{got, from, xid, text(local), len(b)})
	r.conns = append(r.conns, got.Conn())
	if string(got.Message) != string(b) || got.Conn().RemoteAddr() != text(from) || got.Responder.(*request).peer.local != text(local) {
		r.t.Fatalf("the handler got %x of %v to %v, want %x of %v to %v", got.Message, got.Conn().RemoteAddr(), got.Responder.(*request).peer.local, b, from, local)
	}
}

// answer answers one of the Requests that are held: 0 to 3 are faulty answers, others add to the
// size.
func (r *fuzzRun) answer(which, kind int) {
	if len(r.held) == 0 {
		return
	}
	i := which % len(r.held)
	h := r.held[i]
	r.held = append(r.held[:i:i], r.held[i+1:]...)
	reply, _ := oncrpc.NewReply(h.xid, oncrpc.Success).AppendBinary(nil)
	want := reply
	failed, _ := oncrpc.NewReply(h.xid, oncrpc.SystemErr).AppendBinary(nil)
	switch kind {
	case 0:
		reply, want = nil, failed
	case 1:
		reply[0] ^= 1
		want = failed
	case 2:
		reply, want = append(reply, make([]byte, MaxMessage)...), failed
	case 3:
		want = nil
	default:
		reply = append(reply, bytes.Repeat([]byte{byte(kind)}, kind*4)...)
		want = reply
	}
	var results []error
	done := func(err error) { results = append(results, err) }
	if want == nil {
		h.request.Drop(done)
	} else {
		h.request.Reply(oncrpc.Message{Inline: reply}, done)
	}
	h.request.Reply(oncrpc.Message{Inline: want}, done)
	if len(results) != 2 || results[1] != oncrpc.ErrAnswered {
		r.t.Fatalf("answer %d and a second one: %v", kind, results)
	}
	withheld := r.s.Stats().Withheld
	if want == nil || withheld > r.want.Withheld {
		r.want.Withheld = withheld
		return
	}
	got := make([]byte, 4096)
	_ = r.s.sink.SetReadDeadline(time.Now().Add(10 * time.Second))
	n, err := r.s.sink.Read(got)
	if err != nil || string(got[:n]) != string(want) {
		r.t.Fatalf("the peer got %x, %v, want %x", got[:n], err, want)
	}
	over := r.sent[network(h.peer)]
	if most := fuzzRate * (1 + time.Since(r.began).Seconds()); over > int(most) && !h.peer.Addr().IsLoopback() && n > h.size {
		r.t.Fatalf("%v got %d bytes more than it sent, at most %g, and then a reply", h.peer, over, most)
	}
	r.sent[network(h.peer)] += max(0, n-h.size)
}

// abandon drops what a failed execution holds: Close would wait for it.
func (r *fuzzRun) abandon() {
	for _, h := range r.held {
		h.request.Drop(nil)
	}
	for r.s.unanswered() > 0 {
		select {
		case h := <-r.s.served: // that should not be there
			h.Drop(nil)
		default:
			runtime.Gosched()
		}
	}
}

// empty checks that the server has nothing left but its sources.
func (r *fuzzRun) empty() {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stats != r.want {
		r.t.Errorf("%+v, want %+v", s.stats, r.want)
	}
	if s.requests != 0 || len(s.peers) != 0 || len(s.sources) > len(fuzzPeers) {
		r.t.Errorf("%d Requests, %d peers, %d sources are left", s.requests, len(s.peers), len(s.sources))
	}
	for _, c := range r.conns {
		if c.Err() == nil {
			r.t.Errorf("the Conn of %v is up, and has no Call in progress", c.RemoteAddr())
		}
	}
	for at, src := range s.sources {
		if src.requests != 0 {
			r.t.Errorf("%d Requests of %v are left", src.requests, at)
		}
	}
	_ = s.sink.SetReadDeadline(time.Unix(1, 0)) // a datagram that is there is read first
	if n, err := s.sink.Read(make([]byte, 100)); err == nil {
		r.t.Errorf("the peer got %d further bytes", n)
	}
}

func (s *fuzzServer) unanswered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// FuzzClient answers a Call with any datagrams. The Call gets the first that is a reply to it, byte
// for byte, and all others count as strays.
//
//fuzz:floor 1000 each execution sends datagrams, and waits for the reader
func FuzzClient(f *testing.F) {
	const xid = 0x78696430 // "xid0", which the fuzzer can copy
	answer, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
	other, _ := oncrpc.NewReply(xid+1, oncrpc.Success).AppendBinary(nil)
	call, _ := oncrpc.NewCall(xid, 1, 1, 1, oncrpc.None()).AppendBinary(nil)
	datagram := func(b []byte) []byte { return append([]byte{byte(len(b))}, b...) }
	for _, b := range [][]byte{answer, other, call, answer[:7], answer[:8], {}, append(answer, 1, 2, 3, 4)} {
		f.Add(datagram(b), uint8(30))
		f.Add(append(datagram(b), datagram(append(answer, b...))...), uint8(0))
	}
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = server.Close() })
	c, err := Dial(f.Context(), server.LocalAddr().String(), &Config{MinRetransmit: -1})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = c.Close() })
	to := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(c.LocalAddr()))
	f.Fuzz(func(t *testing.T, b []byte, size uint8) {
		var want []byte
		var all [][]byte
		for s := script(b); len(s) > 0 && len(all) < 50; {
			d := s.bytes(int(s.byte()))
			all = append(all, d)
			if got, typ, ok := oncrpc.Peek(d); want == nil && ok && typ == oncrpc.MsgReply && got == xid {
				want = d
			}
		}
		if want == nil {
			all, want = append(all, answer), answer
		}
		before := c.Stats()
		buf := make([]byte, size)
		ended := make(chan error, 1)
		made := &oncrpc.Call{Message: oncrpc.Message{Inline: call}, ReplyBuf: buf}
		go func() {
			_, err := c.Call(context.Background(), made)
			ended <- err
		}()
		sent := make([]byte, 4096)
		if n, err := server.Read(sent); err != nil || string(sent[:n]) != string(call) {
			t.Fatalf("the server got %x, %v", sent[:n], err)
		}
		for _, d := range all {
			if _, err := server.WriteTo(d, to); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-ended; err != nil || string(made.Reply.Message) != string(want) {
			t.Fatalf("the Call got %x, %v, want %x", made.Reply.Message, err, want)
		}
		if len(buf) >= len(want) && &buf[0] != &made.Reply.Message[0] {
			t.Fatal("the reply is not in ReplyBuf, where it fits")
		}
		strays := before.StrayReplies + uint64(len(all)) - 1
		for c.Stats().StrayReplies < strays {
			runtime.Gosched()
		}
		if got := c.Stats(); got.StrayReplies != strays || got.Retransmissions != 0 {
			t.Fatalf("%+v, want %d strays", got, strays)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.calls.Len() != 0 || c.places != 0 {
			t.Fatalf("%d Calls and %d places are left", c.calls.Len(), c.places)
		}
	})
}
