package stream

import (
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A field that is zero has its default, a negative one no limit, and any other its value. For
// MaxPerSource package admission has the default. No
// backlog is longer than a channel may be.
func TestDefaultsAndLimitsOfAConfig(t *testing.T) {
	const most = 1 << 30
	durations := func(c Config) [6]time.Duration {
		return [...]time.Duration{c.HandshakeTimeout, c.SegmentTimeout, c.MessageTimeout, c.SendTimeout, c.PeerTimeout, c.ReceiveTimeout}
	}
	numbers := func(c Config) [6]int {
		return [...]int{c.MaxHandshakes, c.MaxConnections, c.MaxPerSource, c.AcceptRate, c.Backlog, c.LogRate}
	}
	set := func(d time.Duration, n int) Config {
		return Config{
			HandshakeTimeout: d, SegmentTimeout: d, MessageTimeout: d, SendTimeout: d, PeerTimeout: d, ReceiveTimeout: d,
			MaxHandshakes: n, MaxConnections: n, MaxPerSource: n, AcceptRate: n, Backlog: n, LogRate: n,
		}
	}
	for _, tt := range []struct {
		what  string
		given Config
		times [6]time.Duration
		nums  [6]int
	}{
		{
			"zero", set(0, 0),
			[...]time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, 30 * time.Second, 30 * time.Second, time.Second / 2},
			[...]int{10_000, 1 << 16, 0, 5000, 1 << 12, 10},
		},
		{"negative", set(-1, -1), [...]time.Duration{never, never, never, never, 0, 0}, [...]int{most, most, -1, most, 1 << 16, most}},
		{"one", set(1, 1), [...]time.Duration{1, 1, 1, 1, 1, 1}, [...]int{1, 1, 1, 1, 1, 1}},
		{"many", set(time.Hour, 1<<20), [...]time.Duration{time.Hour, time.Hour, time.Hour, time.Hour, time.Hour, time.Hour}, [...]int{1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 16, 1 << 20}},
	} {
		got := tt.given.fill()
		if durations(got) != tt.times || numbers(got) != tt.nums {
			t.Errorf("%s: %v, %v, want %v, %v", tt.what, durations(got), numbers(got), tt.times, tt.nums)
		}
		if got.Rand != rand.Reader {
			t.Errorf("%s: no source of random numbers", tt.what)
		}
	}
	if none := (Config{}).fill(); none.Logger == nil || none.Logger.Enabled(t.Context(), slog.LevelError) {
		t.Error("without a logger nothing is logged")
	}
	source := strings.NewReader("source")
	if got := (Config{Rand: source}).fill(); got.Rand != source {
		t.Error("the caller's source of random numbers is lost")
	}
}

// Each counter has the value of its name, and Refused is the sum of four.
func TestStatsAreTheCounters(t *testing.T) {
	cfg := toyConfig(100)
	cfg.Logger, cfg.LogRate = slog.New(slog.NewTextHandler(io.Discard, nil)), 1
	d := openToy(t, cfg)
	s := &d.stats
	s.connections.Store(1)
	s.broken.Store(2)
	s.refusedFull.Store(3)
	s.refusedSource.Store(4)
	s.refusedHandshake.Store(5)
	s.refusedBacklog.Store(6)
	s.acceptErrors.Store(7)
	for d.logLimit.Omitted() < 8 {
		d.warn("line")
	}
	s.sentDirect.Store(9)
	s.sentStaged.Store(10)
	s.receivedDirect.Store(11)
	s.receivedStaged.Store(12)
	want := Stats{
		Connections: 1, Broken: 2, Refused: 18, RefusedFull: 3, RefusedSource: 4, RefusedHandshake: 5, RefusedBacklog: 6,
		AcceptErrors: 7, Suppressed: 8, SentDirect: 9, SentStaged: 10, ReceivedDirect: 11, ReceivedStaged: 12,
	}
	if got := d.Stats(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// What a peer speaks by mistake is named by its first bytes, as far as they have come.
func TestOtherProtocolIsNamed(t *testing.T) {
	d := openToy(t, toyConfig(100))
	const rpcCall, rpcReply = "\x80\x00\x00\x28xid1\x00\x00\x00\x00\x00\x00\x00\x02", "\x80\x00\x00\x18xid1\x00\x00\x00\x01"
	for _, tt := range []struct{ first, want string }{
		{"", `are "", and this side speaks toy: check the port`},
		{"\x01\x0d", "as of rdmatcp"},
		{"\x01\x0c", "check the port"},
		{"MPA ", "as of iwarp"},
		{"MPA", "check the port"},
		{rpcCall, "as of ONC RPC over TCP"},
		{rpcCall[:15], "check the port"},
		{rpcCall[:15] + "\x03", "check the port"},
		{rpcReply, "as of ONC RPC over TCP"},
		{rpcReply[:11], "check the port"},
		{rpcReply[:8], "check the port"},
		{"\x00" + rpcReply[1:], "check the port"},
		{rpcReply[:11] + "\x02", "check the port"},
		{"0123456789abcdefghij", `are "0123456789abcdef", and`},
	} {
		c := &Conn{dev: d, input: inputBuffer{buf: make([]byte, HandshakeInput)}}
		c.input.w = copy(c.input.buf, tt.first)
		err := c.OtherProtocol(errToy)
		if !errors.Is(err, verbs.ErrOtherProtocol) || !strings.Contains(err.Error(), tt.want) || errors.Is(err, errToy) != !strings.Contains(tt.want, "as of") {
			t.Errorf("%q: %v, want %q", tt.first, err, tt.want)
		}
	}
	d.cfg.Provider = "iwarp"
	c := &Conn{dev: d, input: inputBuffer{buf: []byte("MPA "), w: 4}}
	if err := c.OtherProtocol(errToy); strings.Contains(err.Error(), "as of") {
		t.Errorf("a peer of the same provider: %v", err)
	}
	for _, provider := range []string{"iwarp", "rdmatcp"} {
		other := map[string]string{"iwarp": "rdmatcp", "rdmatcp": "iwarp"}[provider]
		if text := closedAtOnce(provider); !strings.Contains(text, "this side speaks "+provider+": a server of "+other+", or of ONC") {
			t.Errorf("%s: %s", provider, text)
		}
	}
}
