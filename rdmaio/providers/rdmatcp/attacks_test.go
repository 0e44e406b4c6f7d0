package rdmatcp_test

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The attacks of RFC 5042 on memory and stream, A1 to A11, by a scripted peer. Each attempt costs a
// connection, so they use pipes, where connections are cheap; hostile_test.go has many of them over
// sockets. A provider does not defend against A12, false identity: see docs/rdmatcp.md.

// arena is memory with a target inside, for many connections one after the other.
type arena struct {
	t    *testing.T
	dev  *rdmatcp.Device
	pd   verbs.ProtectionDomain
	cq   verbs.CompletionQueue
	room []byte // 0xa5; the target is bytes 40 to 104
	mr   verbs.MemoryRegion
}

const (
	arenaTarget = 64
	arenaMargin = 40
	everything  = verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite | verbs.AccessRemoteInvalidate
)

func newArena(t *testing.T, dev *rdmatcp.Device, rights verbs.Access) *arena {
	t.Helper()
	a := &arena{t: t, dev: dev, room: bytes.Repeat([]byte{0xa5}, arenaMargin+arenaTarget+arenaMargin)}
	var err error
	if a.pd, err = dev.AllocPD(); err != nil {
		t.Fatal(err)
	}
	if a.cq, err = dev.CreateCQ(1024, nil); err != nil {
		t.Fatal(err)
	}
	if a.mr, err = a.pd.RegisterMemory(a.room[arenaMargin:arenaMargin+arenaTarget], rights); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.mr.Deregister()
		a.cq.Close()
		if err := a.pd.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// try runs a peer's script on a fresh connection of the arena, which has a Receive of 16 bytes. It
// returns the bytes that came back, and the error of the connection.
func (a *arena) try(script func(p *peer) []byte) (answer []byte, err error) {
	a.t.Helper()
	here, there := duplexPipe()
	return a.over(here, there, script)
}

// duplex is a pipe in each direction. Each can be closed separately.
type duplex struct{ in, out net.Conn }

func duplexPipe() (a, b net.Conn) {
	r1, w1 := net.Pipe()
	r2, w2 := net.Pipe()
	return duplex{r1, w2}, duplex{r2, w1}
}

func (d duplex) Read(b []byte) (int, error)         { return d.in.Read(b) }
func (d duplex) Write(b []byte) (int, error)        { return d.out.Write(b) }
func (d duplex) Close() error                       { return errors.Join(d.in.Close(), d.out.Close()) }
func (d duplex) CloseWrite() error                  { return d.out.Close() }
func (d duplex) LocalAddr() net.Addr                { return d.in.LocalAddr() }
func (d duplex) RemoteAddr() net.Addr               { return d.in.RemoteAddr() }
func (d duplex) SetReadDeadline(t time.Time) error  { return d.in.SetReadDeadline(t) }
func (d duplex) SetWriteDeadline(t time.Time) error { return d.out.SetWriteDeadline(t) }
func (d duplex) SetDeadline(t time.Time) error {
	return errors.Join(d.in.SetDeadline(t), d.out.SetDeadline(t))
}

func (a *arena) over(here, there net.Conn, script func(p *peer) []byte) (answer []byte, err error) {
	a.t.Helper()
	lost, ended := verbs.NotifyChannel()
	q, err := a.pd.CreateQP(verbs.QPConfig{SendCQ: a.cq, RecvCQ: a.cq, MaxSendWR: 4, MaxRecvWR: 4, Notify: lost})
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() {
		q.Close()
		for n := 1; n > 0; {
			var wcs [16]verbs.WC
			n, _ = a.cq.Poll(wcs[:])
		}
	}()
	q.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: a.mr, Length: min(16, len(a.mr.Bytes()))}}}})
	p := &peer{t: a.t, conn: there, id: rand.Uint64(), number: rand.Uint32()}
	var hi []byte
	if a.dev.Attributes().MaxPrivateData > 0 {
		hi = p.whole(segment.Header{Type: segment.Write}, hello(16, 16, nil), nil)
	}
	b := append(hi, script(p)...)
	heard := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(there)
		heard <- all
	}()
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		p.write(b)
		there.(interface{ CloseWrite() error }).CloseWrite()
	}()
	req, err := a.dev.AcceptConn(context.Background(), here)
	if err == nil {
		_, err = req.Accept(context.Background(), q, nil)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		a.t.Fatal("the connection is still open")
	}
	<-wrote
	there.Close()
	return <-heard, q.Err()
}

// untouched checks that no byte of the arena changed.
func (a *arena) untouched(what string) {
	a.t.Helper()
	if bytes.Count(a.room, []byte{0xa5}) != len(a.room) {
		a.t.Fatalf("%s: a byte was written", what)
	}
}

// access makes a Write of n bytes in two segments, or a Read.
func access(p *peer, op segment.Type, key, off, n uint32) []byte {
	h := header(op, b_|e_, p.next())
	h.BufferID, h.Offset, h.RDMALength, h.Order = key, off, n, segment.NoOrder
	if op == segment.ReadRequest || n < 2 || n > 1000 {
		payload := []byte(nil)
		if op == segment.Write && n <= 1000 {
			payload = make([]byte, n)
		} else if op == segment.Write {
			h.End, payload = false, make([]byte, 100)
		}
		return p.part(h, nil, payload)
	}
	h.End = false
	first := p.part(h, nil, make([]byte, n/2))
	h.Begin, h.End, h.Offset = false, true, off+n/2
	return append(first, p.part(h, nil, make([]byte, n-n/2))...)
}

// A1: a valid key of another connection, used by three operations, is refused if that connection
// has another domain. Regions belong to all connections of their domain (see
// verbs.ProtectionDomain): peers that do not trust each other get one each.
func TestA1ForeignKey(t *testing.T) {
	dev := device(t, &rdmatcp.Config{ReceiveTimeout: -1})
	owner, other := newArena(t, dev, everything), newArena(t, dev, everything)
	invalidate := func(p *peer, key uint32) []byte {
		return p.whole(segment.Header{Res: 0x8}, binary.BigEndian.AppendUint32([]byte{0, 0, 0, 1}, key), nil)
	}
	for _, op := range []func(p *peer) []byte{
		func(p *peer) []byte { return access(p, segment.Write, owner.mr.RKey(), 0, 8) },
		func(p *peer) []byte { return access(p, segment.ReadRequest, owner.mr.RKey(), 0, 8) },
		func(p *peer) []byte { return invalidate(p, owner.mr.RKey()) },
	} {
		_, err := other.try(op)
		if !errors.Is(err, verbs.ErrConnectionBroken) || !strings.Contains(err.Error(), "another protection domain") || owner.mr.State() != verbs.MRValid {
			t.Errorf("from another domain: %v, region %v", err, owner.mr.State())
		}
		owner.untouched("from another domain")
		if _, err := owner.try(op); !errors.Is(err, verbs.ErrPeerDisconnected) {
			t.Errorf("within the domain: %v", err)
		}
		copy(owner.room[arenaMargin:], bytes.Repeat([]byte{0xa5}, 8))
	}
	if owner.mr.State() != verbs.MRInvalid {
		t.Errorf("region %v after a Send with invalidate in its domain", owner.mr.State())
	}
}

// A2: 2^16 guesses around the last key find no region. The first guesses are sent, and each breaks
// a connection.
func TestA2Guesses(t *testing.T) {
	const guesses = 1 << 16
	wired := uint32(1 << 12)
	if testing.Short() || raceDetector {
		wired = 1 << 9
	}
	around := func(key, i uint32) uint32 {
		if i%2 == 1 {
			return key - 1 - i/2
		}
		return key + 1 + i/2
	}
	a := newArena(t, device(t, rawConfig()), everything)
	for i := range wired {
		op := segment.Write
		if i%4 > 1 {
			op = segment.ReadRequest
		}
		key := around(a.mr.RKey(), i)
		if answer, err := a.try(func(p *peer) []byte { return access(p, op, key, 0, 8) }); !errors.Is(err, verbs.ErrConnectionBroken) || len(answer) > 0 {
			t.Fatalf("guess %#x for key %#x: %v, %d bytes came back", key, a.mr.RKey(), err, len(answer))
		}
	}
	a.untouched("guesses")

	books, err := soft.New(soft.Config{Provider: "test", Attrs: a.dev.Attributes(), Rand: crand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	pd, err := books.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	var last verbs.MemoryRegion
	for range 1000 { // keys that the peer has seen
		if last, err = pd.RegisterMemory(make([]byte, 8), everything); err != nil {
			t.Fatal(err)
		}
	}
	hits := 0
	for i := range uint32(guesses) {
		if _, reason := pd.Remote(around(last.RKey(), i), 0, 1, verbs.AccessRemoteRead); reason == "" {
			hits++
		}
	}
	if hits > 1 { // 1000 keys in 2^32: one hit in 65 such tests
		t.Errorf("%d of %d guesses were keys", hits, guesses)
	}
}

// A2, R301: of 2^20 keys, 10^5 at once are valid and each occurs once, and each byte is
// distributed as random ones are. With 255 degrees of freedom chi-square exceeds 400 once in 10^8.
func TestA2Keys(t *testing.T) {
	live, n := 100_000, 1<<20
	if testing.Short() || raceDetector {
		live, n = 5000, 20_000
	}
	a := newArena(t, device(t, nil), everything)
	keys := make([]uint32, 0, n)
	mrs := make([]verbs.MemoryRegion, live)
	for i := range n {
		mr := mrs[i%live]
		if mr == nil {
			var err error
			if mr, err = a.pd.RegisterMemory(a.room, everything); err != nil {
				t.Fatal(err)
			}
			mrs[i%live] = mr
		} else if mr.Invalidate() != nil || mr.Reregister(a.room, everything) != nil {
			t.Fatal("reregister failed")
		}
		keys = append(keys, mr.RKey())
	}
	for _, mr := range mrs {
		if err := mr.Deregister(); err != nil {
			t.Fatal(err)
		}
	}
	var counts [4][256]int
	for _, key := range keys[:live] {
		for i := range counts {
			counts[i][byte(key>>(8*i))]++
		}
	}
	for i, c := range counts {
		chi, mean := 0.0, float64(live)/256
		for _, k := range c {
			chi += (float64(k) - mean) * (float64(k) - mean) / mean
		}
		if chi > 400 {
			t.Errorf("byte %d of the keys: chi-square %.0f, want below 400", i, chi)
		}
	}
	slices.Sort(keys)
	if different := len(slices.Compact(keys)); different != n {
		t.Errorf("%d of %d keys came twice", n-different, n)
	}
}

// A3, A4, A7: every offset and length in a window of 80 bytes around a region of 64, and those at
// the ends of the 32 bits. A range that is not entirely inside moves no byte.
func TestA3A4EveryRange(t *testing.T) {
	step := 1
	if testing.Short() || raceDetector {
		step = 7
	}
	a := newArena(t, device(t, rawConfig()), everything)
	for _, op := range []segment.Type{segment.Write, segment.ReadRequest} {
		for i := 0; i < 80*80; i += step {
			off, n := uint32(i/80-8), uint32(i%80) // from 8 before, which wraps, to 8 behind
			inside := n == 0 && uint64(off)+uint64(n) <= 1<<32 || uint64(off)+uint64(n) <= arenaTarget
			answer, err := a.try(func(p *peer) []byte { return access(p, op, a.mr.RKey(), off, n) })
			if (err == verbs.ErrPeerDisconnected) != inside {
				t.Fatalf("%v of %d bytes at %d: %v", op, int32(n), int32(off), err)
			}
			for i := range a.room {
				at := i - arenaMargin
				if wrote := a.room[i] == 0; wrote != (inside && op == segment.Write && at >= int(int32(off)) && at < int(int32(off))+int(n)) {
					t.Fatalf("%v of %d bytes at %d: byte %d written: %v", op, n, int32(off), at, wrote)
				}
				a.room[i] = 0xa5
			}
			if sent := bytes.Count(answer, []byte{0xa5}); inside && op == segment.ReadRequest && sent < int(n) || !inside && len(answer) > 0 {
				t.Fatalf("%v of %d bytes at %d: %d bytes came back", op, n, int32(off), len(answer))
			}
		}
		for _, r := range [][2]uint32{{0, 1<<32 - 1}, {1, 1<<32 - 1}, {63, 1<<32 - 64}, {1<<32 - 1, 1}, {1<<32 - 1, 2}, {1 << 31, 1 << 31}, {1<<32 - 64, 128}} {
			if _, err := a.try(func(p *peer) []byte { return access(p, op, a.mr.RKey(), r[0], r[1]) }); !errors.Is(err, verbs.ErrConnectionBroken) {
				t.Errorf("%v of %d bytes at %#x: %v", op, r[1], r[0], err)
			}
			a.untouched(fmt.Sprint(op, r))
		}
	}
}

// racing is a stream whose write, of a whole message, calls at when a part of the bytes has gone.
type racing struct {
	net.Conn
	part func(whole int) int
	at   func()
}

func (r *racing) Write(b []byte) (int, error) {
	n, err := r.Conn.Write(b[:r.part(len(b))])
	r.at()
	if err != nil {
		return n, err
	}
	more, err := r.Conn.Write(b[n:])
	return n + more, err
}

func (r *racing) CloseWrite() error { return r.Conn.(interface{ CloseWrite() error }).CloseWrite() }

// A5, A6, R290: 10^4 races of a peer's Write or Read with Invalidate. After Invalidate has
// returned, the bytes of the region neither change nor are sent. Invalidate begins when a part of
// the message has gone, of any size. In one race of eleven it has returned before the first byte,
// and in one it begins after the end of the connection, so that both results occur.
func TestA5Races(t *testing.T) {
	races := 10_000
	if testing.Short() || raceDetector {
		races = 300
	}
	dev := device(t, rawConfig())
	a := newArena(t, dev, everything)
	big := make([]byte, 3*rdmatcp.StageLimit)
	mr, err := a.pd.RegisterMemory(big, everything)
	if err != nil {
		t.Fatal(err)
	}
	defer mr.Deregister()
	late, early := 0, 0
	for i := range races {
		op, n := segment.Write, uint32(64)
		if i%3 == 0 {
			op = segment.ReadRequest
		}
		if i%8 == 0 {
			n = uint32(len(big)) // direct, over TCP
		}
		for j := range big[:n] {
			big[j] = 0x11
		}
		key := mr.RKey()
		script := func(p *peer) []byte {
			b := access(p, op, key, 0, min(n, 1000))
			if op == segment.Write && n > 1000 {
				h := header(op, b_|e_, p.number-1)
				h.BufferID, h.RDMALength, h.Order = key, n, segment.NoOrder
				b = p.part(h, nil, make([]byte, n))
			}
			return b
		}
		here, there := duplexPipe()
		if n > 1000 {
			there, here = tcpPair(t)
		}
		invalidated := make(chan struct{})
		invalidate := func() {
			defer close(invalidated)
			mr.Invalidate()
			for j := range big[:n] {
				big[j] = 0xa5
			}
		}
		peer := &racing{there, func(whole int) int { return rand.IntN(whole + 1) }, func() { go invalidate() }}
		before, after := i%11 == 0, i%11 == 1
		switch {
		case before:
			peer.part, peer.at = func(int) int { return 0 }, invalidate
		case after:
			peer.at = func() {}
		}
		answer, err := a.over(here, peer, script)
		if after {
			invalidate()
		}
		<-invalidated
		if bytes.Count(big[:n], []byte{0xa5}) != int(n) {
			t.Fatalf("race %d: written after Invalidate", i)
		}
		if bytes.Contains(answer, bytes.Repeat([]byte{0xa5}, 8)) {
			t.Fatalf("race %d: read after Invalidate", i)
		}
		switch {
		case err == verbs.ErrPeerDisconnected && !before:
			early++
		case errors.Is(err, verbs.ErrConnectionBroken) && !after:
			late++
		default:
			t.Fatalf("race %d: %v; invalidated before it: %v, after it: %v", i, err, before, after)
		}
		if err := mr.Reregister(big, everything); err != nil || mr.RKey() == key {
			t.Fatalf("race %d: %v, or the same key", i, err)
		}
	}
	t.Logf("%d before Invalidate, %d after", early, late)
}

// A8: each access is refused for each set of rights that lacks its own.
func TestA8Rights(t *testing.T) {
	dev := device(t, rawConfig())
	const lw, rr, rw = verbs.AccessLocalWrite, verbs.AccessRemoteRead, verbs.AccessRemoteWrite
	for _, rights := range []verbs.Access{lw, rr, lw | rw, lw | rr | rw} {
		a := newArena(t, dev, rights)
		for _, tc := range []struct {
			op segment.Type
			n  uint32
			ok bool
		}{
			{segment.Write, 8, rights&rw != 0},
			{segment.ReadRequest, 8, rights&rr != 0},
			{segment.Write, 0, true},
			{segment.ReadRequest, 0, true},
		} {
			answer, err := a.try(func(p *peer) []byte { return access(p, tc.op, a.mr.RKey(), 0, tc.n) })
			if (err == verbs.ErrPeerDisconnected) != tc.ok || !tc.ok && (!errors.Is(err, verbs.ErrConnectionBroken) || len(answer) > 0) {
				t.Errorf("%v of %d bytes through %v: %v, %d bytes came back", tc.op, tc.n, rights, err, len(answer))
			}
			if tc.ok && tc.op == segment.Write && tc.n > 0 {
				copy(a.room[arenaMargin:], bytes.Repeat([]byte{0xa5}, int(tc.n)))
			}
			a.untouched(fmt.Sprint(tc.op, rights))
		}
	}
}

// A9: two keys of one buffer need two registrations, which are revoked separately. A peer cannot
// derive one from the other.
func TestA9TwoKeys(t *testing.T) {
	dev := device(t, &rdmatcp.Config{ReceiveTimeout: -1})
	a := newArena(t, dev, everything)
	second, err := a.pd.RegisterMemory(a.mr.Bytes(), verbs.AccessRemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Deregister()
	if second.RKey() == a.mr.RKey() {
		t.Fatal("two registrations with one key")
	}
	if err := second.Invalidate(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.try(func(p *peer) []byte { return access(p, segment.ReadRequest, second.RKey(), 0, 8) }); !errors.Is(err, verbs.ErrConnectionBroken) {
		t.Errorf("through the ended one: %v", err)
	}
	if _, err := a.try(func(p *peer) []byte { return access(p, segment.ReadRequest, a.mr.RKey(), 0, 8) }); err != verbs.ErrPeerDisconnected {
		t.Errorf("through the other: %v", err)
	}
}

// A10: a SendWithInvalidate of a region that the peer may not invalidate.
func TestA10Invalidate(t *testing.T) {
	dev := device(t, &rdmatcp.Config{ReceiveTimeout: -1})
	a, other := newArena(t, dev, everything), newArena(t, dev, everything)
	plain := newArena(t, dev, everything&^verbs.AccessRemoteInvalidate)
	for name, tc := range map[string]struct {
		by  *arena
		key func() uint32
	}{
		"another domain's":  {a, other.mr.RKey},
		"without the right": {plain, plain.mr.RKey},
		"none":              {a, func() uint32 { return 0 }},
		"ended": {a, func() uint32 {
			old := a.mr.RKey()
			a.mr.Invalidate()
			a.mr.Reregister(a.room[arenaMargin:arenaMargin+arenaTarget], everything)
			return old
		}},
	} {
		key := tc.key()
		_, err := tc.by.try(func(p *peer) []byte {
			return p.whole(segment.Header{Res: 0x8}, binary.BigEndian.AppendUint32([]byte{0, 0, 0, 1}, key), []byte("deliver"))
		})
		if !errors.Is(err, verbs.ErrConnectionBroken) || !strings.Contains(err.Error(), "RFC 5042 §6.4.5") {
			t.Errorf("%s: %v", name, err)
		}
		for _, x := range []*arena{a, other, plain} {
			if x.mr.State() != verbs.MRValid {
				t.Errorf("%s: region %v", name, x.mr.State())
			}
		}
	}
}
