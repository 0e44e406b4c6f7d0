package strangertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The attacks of RFC 5042 on memory, A1 to A11. A connection costs little over a pipe.
// TestEachFaultGetsItsTerminate has A1 between domains, A8 and A10.

// target is memory with margins, for many connections one after the other.
type target struct {
	t    *testing.T
	dev  *iwarp.Device
	pd   verbs.ProtectionDomain
	cq   verbs.CompletionQueue
	room []byte
	mr   verbs.MemoryRegion
}

const (
	margin      = 40
	targetBytes = 64
)

func newTarget(t *testing.T, dev *iwarp.Device, rights verbs.Access) *target {
	t.Helper()
	a := &target{t: t, dev: dev, room: bytes.Repeat([]byte{stranger.VictimPoison}, margin+targetBytes+margin)}
	var err error
	if a.pd, err = dev.AllocPD(); err != nil {
		t.Fatal(err)
	}
	if a.cq, err = dev.CreateCQ(16, nil); err != nil {
		t.Fatal(err)
	}
	if a.mr, err = a.pd.RegisterMemory(a.room[margin:margin+targetBytes], rights); err != nil {
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

// try posts one Receive of 16 bytes at the target, runs a script on a new connection to it, and
// then closes the script's direction. It returns the events, and the host's reason.
func (a *target) try(f stranger.Startup, script func(p *stranger.Endpoint)) (all []stranger.Event, p *stranger.Endpoint, err error) {
	a.t.Helper()
	here, there := pipe()
	return a.over(here, there, f, script)
}

func (a *target) over(here, there net.Conn, f stranger.Startup, script func(p *stranger.Endpoint)) (all []stranger.Event, p *stranger.Endpoint, err error) {
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
	if _, err := q.PostRecv([]verbs.RecvWR{{}}); err != nil {
		a.t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		req, err := a.dev.AcceptConn(ctx, here)
		if err == nil {
			_, err = req.Accept(ctx, q, nil)
		}
		result <- err
	}()
	p, err = stranger.Initiate(there, stranger.Config{
		Startup: f,
		Regions: map[uint32]stranger.Region{1: {Bytes: make([]byte, 4*targetBytes)}},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	defer p.Close()
	script(p)
	p.CloseWrite()
	if err := <-result; err != nil {
		a.t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		a.t.Fatal("the connection still stands")
	}
	for {
		e := p.Next()
		all = append(all, e)
		if e.Kind == stranger.Ended {
			return all, p, q.Err()
		}
	}
}

// untouched checks that no byte changed.
func (a *target) untouched(what string) {
	a.t.Helper()
	if bytes.Count(a.room, []byte{stranger.VictimPoison}) != len(a.room) {
		a.t.Fatalf("%s: a byte was placed: %x", what, a.room)
	}
}

// terminated returns the reason of the Terminate among events.
func terminated(all []stranger.Event) (stranger.Code, bool) {
	for _, e := range all {
		if e.Kind == stranger.Terminated {
			return e.Terminate.Code, true
		}
	}
	return stranger.Code{}, false
}

// A2: guesses around a key find no region, and each costs a connection.
func TestA2Guesses(t *testing.T) {
	guesses := uint32(4096)
	if testing.Short() {
		guesses = 300
	}
	a := newTarget(t, open(t, config()), everything)
	for i := range guesses {
		key := a.mr.RKey() + i/2 + 1
		if i%2 == 1 {
			key = a.mr.RKey() - i/2 - 1
		}
		all, _, err := a.try(enhanced(false), func(p *stranger.Endpoint) {
			if i%4 < 2 {
				p.Write(key, a.mr.RemoteAddr(), make([]byte, 8))
				return
			}
			p.Read(stranger.Read{SinkSTag: 1, Size: 8, SourceSTag: key, SourceTO: a.mr.RemoteAddr()})
		})
		if code, ok := terminated(all); !ok || !errors.Is(err, verbs.ErrConnectionBroken) || code != stranger.DDPInvalidSTag && code != stranger.RDMAPInvalidSTag {
			t.Fatalf("guess %#x for %#x: %v, %v", key, a.mr.RKey(), all, err)
		}
	}
	a.untouched("guesses")
}

// A3, A4: each Write and Read of a window around the region moves all of its bytes, or none and
// ends the connection.
func TestA3A4EveryRange(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 7
	}
	a := newTarget(t, open(t, config()), everything)
	tried := 0
	for at := -8; at <= targetBytes+8; at += step {
		for n := 0; n <= targetBytes+8-at; n += step {
			for _, read := range []bool{false, true} {
				to := a.mr.RemoteAddr() + uint64(at)
				inside := at >= 0 && at+n <= targetBytes || n == 0
				all, p, err := a.try(enhanced(false), func(p *stranger.Endpoint) {
					if read {
						p.Read(stranger.Read{SinkSTag: 1, Size: uint32(n), SourceSTag: a.mr.RKey(), SourceTO: to})
					} else {
						p.Write(a.mr.RKey(), to, make([]byte, n))
					}
				})
				what := fmt.Sprintf("read %t, %d bytes at %d", read, n, at)
				if code, ok := terminated(all); ok == inside || errors.Is(err, verbs.ErrConnectionBroken) == inside {
					t.Fatalf("%s: %v, %v, reason %v", what, all, err, code)
				}
				got, _ := p.Memory(1)
				if read && inside && bytes.Count(got, []byte{stranger.VictimPoison}) != n || !inside && bytes.Count(got, []byte{0}) != len(got) {
					t.Fatalf("%s: %x came", what, got)
				}
				if !read && inside {
					want := bytes.Repeat([]byte{stranger.VictimPoison}, len(a.room))
					if n > 0 {
						clear(want[margin+at : margin+at+n])
					}
					if !bytes.Equal(a.room, want) {
						t.Fatalf("%s: memory %x", what, a.room)
					}
					copy(a.room, bytes.Repeat([]byte{stranger.VictimPoison}, len(a.room)))
				}
				a.untouched(what)
				tried++
			}
		}
	}
	t.Logf("%d ranges", tried)
}

// A3: lengths and offsets at the ends of their types.
func TestA3Extremes(t *testing.T) {
	a := newTarget(t, open(t, config()), everything)
	for _, to := range []uint64{0, 1, 1<<32 - 1, 1 << 63, 1<<64 - 2, 1<<64 - 1, a.mr.RemoteAddr() - 1<<32, a.mr.RemoteAddr() + 1<<32} {
		if to == a.mr.RemoteAddr() {
			continue
		}
		for _, n := range []uint32{1, 8, 1 << 31, 1<<32 - 1} {
			all, _, err := a.try(enhanced(true), func(p *stranger.Endpoint) {
				p.Read(stranger.Read{SinkSTag: 1, Size: n, SourceSTag: a.mr.RKey(), SourceTO: to})
			})
			if _, ok := terminated(all); !ok || !errors.Is(err, verbs.ErrConnectionBroken) {
				t.Errorf("Read of %d bytes at %#x: %v, %v", n, to, all, err)
			}
		}
		all, _, err := a.try(enhanced(true), func(p *stranger.Endpoint) { p.Write(a.mr.RKey(), to, []byte("xx")) })
		if _, ok := terminated(all); !ok || !errors.Is(err, verbs.ErrConnectionBroken) {
			t.Errorf("Write at %#x: %v, %v", to, all, err)
		}
		a.untouched("extremes")
	}
}

// A5, A6: a key is dead when the Send that invalidates it is handed up, and when Invalidate
// returns: then no Write changes the memory, and no Read returns it.
func TestA5A6Races(t *testing.T) {
	races := 300
	if testing.Short() {
		races = 40
	}
	for i := range races {
		h := newHost(t, open(t, config()))
		b := make([]byte, 4096)
		mr := h.region("memory", b, everything)
		h.post(8)
		p := h.connect(false, stranger.Config{Startup: enhanced(i%2 == 0), Regions: map[uint32]stranger.Region{1: {Bytes: make([]byte, len(b))}}}, nil)
		write := make([]byte, 1000)
		for j := range write {
			write[j] = 1
		}
		remote := i%4 < 2
		for j := range 20 {
			p.Write(mr.RKey(), mr.RemoteAddr(), write)
			if remote && j == i%20 {
				p.Send(stranger.SendInvalidate, nil, mr.RKey())
			}
			p.Read(stranger.Read{SinkSTag: 1, SinkTO: 8, Size: 100, SourceSTag: mr.RKey(), SourceTO: mr.RemoteAddr() + 3000})
		}
		if remote {
			if _, wc, err := h.message(); err != nil || wc.InvalidatedRKey != mr.RKey() {
				t.Fatalf("message: %+v, %v", wc, err)
			}
		} else {
			h.must(mr.Invalidate())
		}
		// The upper layer uses the memory again.
		copy(b, bytes.Repeat([]byte{stranger.VictimPoison}, len(b)))
		p.Write(mr.RKey(), mr.RemoteAddr(), write)
		if err := h.ended(); !errors.Is(err, verbs.ErrConnectionBroken) {
			t.Fatalf("reason %v", err)
		}
		if bytes.Count(b, []byte{stranger.VictimPoison}) != len(b) {
			t.Fatal("a byte was placed behind the invalidation")
		}
		for e := p.Next(); e.Kind != stranger.Ended; {
			e = p.Next()
		}
		if got, _ := p.Memory(1); bytes.Contains(got, []byte{stranger.VictimPoison}) {
			t.Fatal("a byte was read behind the invalidation")
		}
		p.Close()
	}
}

// A8: rights decide, except for operations of no bytes.
func TestA8Rights(t *testing.T) {
	dev := open(t, config())
	for _, rights := range []verbs.Access{
		verbs.AccessLocalWrite | verbs.AccessRemoteRead, verbs.AccessLocalWrite | verbs.AccessRemoteWrite,
		verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite, verbs.AccessRemoteRead,
	} {
		a := newTarget(t, dev, rights)
		for _, n := range []int{0, 1, targetBytes} {
			for _, read := range []bool{false, true} {
				allowed := n == 0 || read && rights&verbs.AccessRemoteRead != 0 || !read && rights&verbs.AccessRemoteWrite != 0
				all, _, err := a.try(enhanced(true), func(p *stranger.Endpoint) {
					if read {
						p.Read(stranger.Read{SinkSTag: 1, Size: uint32(n), SourceSTag: a.mr.RKey(), SourceTO: a.mr.RemoteAddr()})
					} else {
						p.Write(a.mr.RKey(), a.mr.RemoteAddr(), bytes.Repeat([]byte{stranger.VictimPoison}, n))
					}
				})
				if _, ok := terminated(all); ok == allowed || errors.Is(err, verbs.ErrConnectionBroken) == allowed {
					t.Errorf("rights %v, read %t, %d bytes: %v, %v", rights, read, n, all, err)
				}
				a.untouched("rights")
			}
		}
	}
}

// A11: with CRCs, no bit of a stream can change without the end of the connection: no message is
// delivered, and no byte placed.
func TestA11EveryBit(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 5
	}
	a := newTarget(t, open(t, config()), everything)
	size := 0
	build := func(p *stranger.Endpoint) []byte {
		b := p.Wire(p.DueWrite(a.mr.RKey(), a.mr.RemoteAddr()+5, []byte("written"))...)
		return append(b, p.Wire(p.DueSend(stranger.Send, nil, 0)...)...)
	}
	first := 0
	for bit := 0; bit == 0 || bit < 8*size; bit += step {
		all, _, err := a.try(enhanced(true), func(p *stranger.Endpoint) {
			b := build(p)
			size = len(b)
			first = 28 // the Write is in place if the Send is wrong
			b[bit/8] ^= 1 << (bit % 8)
			p.PutBytes(b)
		})
		if errors.Is(err, verbs.ErrPeerDisconnected) && bit/8 >= 2 && (bit/8 < first || bit/8 >= first+2) {
			t.Fatalf("bit %d: %v, %v", bit, all, err)
		}
		if bit/8 >= first {
			copy(a.room[margin+5:], bytes.Repeat([]byte{stranger.VictimPoison}, 7))
		}
		a.untouched(fmt.Sprintf("bit %d", bit))
	}
}

// A11: the same for many bits at random.
func TestA11ManyBits(t *testing.T) {
	tries := 3000
	if testing.Short() {
		tries = 300
	}
	a := newTarget(t, open(t, config()), everything)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range tries {
		a.try(enhanced(true), func(p *stranger.Endpoint) {
			b := p.Wire(p.DueWrite(a.mr.RKey(), a.mr.RemoteAddr()+5, []byte("written"))...)
			for flips := 1 + rnd.IntN(12); flips > 0; flips-- {
				b[2+rnd.IntN(len(b)-2)] ^= 1 << rnd.IntN(8)
			}
			if bytes.Equal(stranger.Reseal(bytes.Clone(b)), b) {
				b[5] ^= 1
			}
			p.PutBytes(b)
		})
		a.untouched("many bits")
	}
}

// Whatever follows the startup, the provider neither panics nor hangs, and changes no memory but a
// region that the peer may write.
//
//fuzz:floor 400 each execution makes a connection, with its goroutines
func FuzzStream(f *testing.F) {
	cfg := config()
	cfg.NoCRC = true // the peer decides: a fuzzer finds no CRC
	dev, err := iwarp.Open(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { dev.Close() })
	v, err := stranger.Vectors()
	if err != nil {
		f.Fatal(err)
	}
	for _, v := range v {
		var all []byte
		for _, s := range v.Steps {
			if b := v.Expand(s); s.Initiator && len(b) > 0 && !bytes.HasPrefix(b, []byte("MPA")) {
				all = append(all, b...)
			}
		}
		f.Add(all, v.CRC)
		f.Add(all, false)
	}
	f.Fuzz(func(t *testing.T, b []byte, crc bool) {
		a := &target{t: t, dev: dev, room: bytes.Repeat([]byte{stranger.VictimPoison}, 200)}
		var err error
		if a.pd, err = dev.AllocPD(); err != nil {
			t.Fatal(err)
		}
		a.cq, _ = dev.CreateCQ(16, nil)
		a.mr, _ = a.pd.RegisterMemory(a.room[50:100], verbs.AccessLocalWrite|verbs.AccessRemoteRead)
		start := time.Now()
		a.try(enhanced(crc), func(p *stranger.Endpoint) { p.PutBytes(b) })
		if took := time.Since(start); took > patience/2 {
			t.Errorf("the connection ended after %v", took)
		}
		a.untouched("fuzz")
		a.mr.Deregister()
		a.cq.Close()
		if err := a.pd.Close(); err != nil {
			t.Error(err)
		}
	})
}
