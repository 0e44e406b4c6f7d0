package udp

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// newServer returns a server whose handler gets nothing.
func newServer(t testing.TB, h oncrpc.Handler, cfg *Config) *Server {
	t.Helper()
	s, err := Listen(t.Context(), "127.0.0.1:0", h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leak.Close(t, s) })
	return s
}

var nothing = oncrpc.HandlerFunc(func(r *oncrpc.Request) { r.Drop(nil) })

// Replies to a source exceed its Calls by ReplyRate bytes in a second, and one reply, whatever port
// or address of its network it claims.
func TestReplyRate(t *testing.T) {
	s := newServer(t, nothing, &Config{ReplyRate: 1000})
	now := time.Unix(1000, 0)
	may := func(addr string, excess int, want bool) {
		t.Helper()
		s.mu.Lock()
		src := s.source(netip.MustParseAddr(addr), now)
		s.mu.Unlock()
		if got := s.mayReply(src, excess, now); got != want {
			t.Errorf("%d bytes to %s: %v", excess, addr, got)
		}
	}
	may("192.0.2.1", 999, true)
	may("192.0.2.1", 5000, true)
	may("192.0.2.1", 1, false)
	may("192.0.2.1", 0, true)
	may("192.0.2.1", -100, true)
	may("::ffff:192.0.2.1", 1, false)
	may("192.0.2.2", 1, true)
	may("2001:db8::1", 2000, true)
	may("2001:db8::2", 1, false)
	may("2001:db8:0:1::1", 1, true)
	for range 10 {
		may("127.0.0.1", 60_000, true)
	}
	now = now.Add(4 * time.Second)
	may("192.0.2.1", 1, false) // 999 + 5000 - 1000 takes five
	now = now.Add(time.Second)
	may("192.0.2.1", 1, true)
	now = now.Add(time.Hour)
	may("192.0.2.1", 1000, true)
	may("192.0.2.1", 1, false)
	if n := s.Stats().Withheld; n != 5 {
		t.Errorf("%d replies were withheld, want 5", n)
	}
}

// The memory for sources is bounded, and those that are idle make room.
func TestMaxSources(t *testing.T) {
	s := newServer(t, nothing, &Config{ReplyRate: 1000})
	now := time.Unix(1000, 0)
	find := func(i int) *source {
		s.mu.Lock()
		defer s.mu.Unlock()
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], 0xc0000000+uint32(i))
		return s.source(netip.AddrFrom4(b), now)
	}
	for i := range maxSources {
		src := find(i)
		if src == nil {
			t.Fatal(i)
		}
		s.mayReply(src, 10, now)
	}
	if find(maxSources) != nil || find(0) == nil || len(s.sources) != maxSources {
		t.Error("a further source was admitted, or a known one was not")
	}
	find(7).requests = 1
	now = now.Add(sweepInterval - 1)
	if find(maxSources) != nil || len(s.sources) != maxSources {
		t.Error("a flood makes the server look at all sources each time")
	}
	now = now.Add(1)
	if find(maxSources) == nil || len(s.sources) != 2 {
		t.Errorf("%d sources, want the one with a Request and the further one", len(s.sources))
	}
}

// A reply that exceeds the rate is not sent, and the handler learns why.
func TestReplyAboveTheRateIsWithheld(t *testing.T) {
	done := make(chan error, 2)
	s := newServer(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		b, _ := oncrpc.NewReply(binary.BigEndian.Uint32(r.Message), oncrpc.Success).AppendBinary(nil)
		r.Reply(oncrpc.Message{Inline: append(b, make([]byte, 400)...)}, func(err error) { done <- err })
	}), &Config{ReplyRate: 100, Logger: slog.New(slog.DiscardHandler)})
	from := netip.MustParseAddrPort("192.0.2.1:9")
	for i, want := range []error{nil, ErrRate} {
		b, _ := oncrpc.NewCall(uint32(i), 1, 1, 1, oncrpc.None()).AppendBinary(nil)
		r := s.admit(uint32(i), b, from, s.local, nil)
		r.peer.to = s.local // where it arrives, and is ignored
		r.Serve(s.handler)
		if err := <-done; !errors.Is(err, want) {
			t.Errorf("reply %d: %v, want %v", i, err, want)
		}
	}
}

// A Call that was read when the server was closed does not get to the handler.
func TestNoCallAfterClose(t *testing.T) {
	s := newServer(t, nothing, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, _ := oncrpc.NewCall(1, 1, 1, 1, oncrpc.None()).AppendBinary(nil)
	if r := s.admit(1, b, netip.MustParseAddrPort("192.0.2.1:9"), s.local, nil); r != nil || s.Stats() != (ServerStats{}) {
		t.Errorf("the Call was admitted, %+v", s.Stats())
		r.Drop(nil)
	}
}

// Calls with one XID that a client sends to two addresses of the server are two Calls.
func TestCallToAnotherAddressIsAnother(t *testing.T) {
	s := newServer(t, nothing, nil)
	b, _ := oncrpc.NewCall(1, 1, 1, 1, oncrpc.None()).AppendBinary(nil)
	from := netip.MustParseAddrPort("192.0.2.1:9")
	for _, to := range []string{"192.0.2.2:111", "192.0.2.3:111", "192.0.2.2:112"} {
		r := s.admit(1, b, from, netip.MustParseAddrPort(to), nil)
		if r == nil {
			t.Fatalf("the Call to %s is taken for a repeated one", to)
		}
		defer r.Drop(nil)
	}
	if s.admit(1, b, from, netip.MustParseAddrPort("192.0.2.3:111"), nil) != nil || s.Stats().Repeated != 1 {
		t.Error("a repeated Call was admitted")
	}
}
