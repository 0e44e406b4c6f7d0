package mem_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The attacks of RFC 5042 that this provider defends against, on two connections of one server.
// Each must fail and break the attacker's connection, and must not affect the other one. Cases of
// package verbstest are not repeated: A4 by Read, A8 with zero length, the refusals of A10. A11
// needs a stream to flip bits in; A9 and A12 concern the transport above.

// attacked holds a victim's connection and region, and an attacker's connection.
type attacked struct {
	t      *testing.T
	victim *side // server's end of the innocent connection
	mr     verbs.MemoryRegion
	c, s   *side // the attacker, and the server's side of that connection
}

func newAttack(t *testing.T) *attacked {
	_, client, server := openPair(t)
	var ends [4]*side // of one device for each side: its keys are in one table
	for i, dev := range []*mem.Device{client, server, client, server} {
		ends[i] = newSide(t, dev, sideConfig{})
	}
	join(t, ends[0], ends[1])
	join(t, ends[2], ends[3])
	return &attacked{t: t, victim: ends[1], mr: ends[1].mr, c: ends[2], s: ends[3]}
}

// attempt posts one request and checks that its only effect is a broken connection.
func (a *attacked) attempt(wr verbs.SendWR, victim verbs.MemoryRegion) {
	a.t.Helper()
	before := bytes.Clone(victim.Bytes())
	wr.Flags = verbs.SendSignaled
	if _, err := a.c.qp.PostSend([]verbs.SendWR{wr}); err != nil {
		a.t.Fatalf("post: %v", err)
	}
	wcs := make([]verbs.WC, 8)
	n, err := a.c.cq.Poll(wcs)
	if n < 1 || err != nil || wcs[0].Status != verbs.StatusRemoteAccess {
		a.t.Fatalf("%d completions, %v: %+v; want a remote access error", n, err, wcs[0])
	}
	for _, q := range []*side{a.c, a.s} {
		if st := q.qp.State(); st != verbs.StateError {
			a.t.Errorf("state %v, want %v at both ends", st, verbs.StateError)
		}
	}
	if !bytes.Equal(before, victim.Bytes()) || victim.State() != verbs.MRValid || a.victim.qp.State() != verbs.StateConnected {
		a.t.Errorf("the victim suffered: region %v, queue pair %v", victim.State(), a.victim.qp.State())
	}
}

// R8, A1: a valid key of another connection, used by three operations.
func TestA1ForeignKey(t *testing.T) {
	for _, op := range []verbs.Opcode{verbs.RDMAWrite, verbs.RDMARead, verbs.SendWithInvalidate} {
		t.Run(op.String(), func(t *testing.T) {
			a := newAttack(t)
			if _, err := a.s.qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: a.s.mr, Length: 64}}}}); err != nil {
				t.Fatal(err)
			}
			a.attempt(verbs.SendWR{
				Opcode: op, SGL: []verbs.SGE{{MR: a.c.mr, Length: 8}},
				RKey: a.mr.RKey(), RemoteAddr: a.mr.RemoteAddr(), InvalidateRKey: a.mr.RKey(),
			}, a.mr)
		})
	}
}

// R301, A2: of 10^5 valid keys, no two are equal, and each byte is distributed as random ones are.
// With 255 degrees of freedom chi-square exceeds 400 once in 10^8.
func TestA2KeysSpread(t *testing.T) {
	_, _, s := newPair(t)
	const n = 100_000
	var counts [4][256]int
	seen := make(map[uint32]bool, n)
	buf, rights := s.mr.Bytes(), s.mr.Access()
	for range n {
		if s.mr.Invalidate() != nil || s.mr.Reregister(buf, rights) != nil {
			t.Fatal("reregister failed")
		}
		key := s.mr.RKey()
		if seen[key] {
			t.Fatalf("key %#x came twice in %d", key, n)
		}
		seen[key] = true
		for i := range counts {
			counts[i][byte(key>>(8*i))]++
		}
	}
	for i, c := range counts {
		chi := 0.0
		for _, k := range c {
			d := float64(k) - n/256.0
			chi += d * d / (n / 256.0)
		}
		if chi > 400 {
			t.Errorf("byte %d of the keys: chi-square %.0f, want below 400", i, chi)
		}
	}
}

// R9, A3, A4, A7: every offset and length in a window of 80 bytes around a region of 64. A range
// that is not entirely inside moves no byte.
func TestA3A4EveryRange(t *testing.T) {
	for _, op := range []verbs.Opcode{verbs.RDMAWrite, verbs.RDMARead} {
		t.Run(op.String(), func(t *testing.T) {
			var c, s *side
			var around []byte
			var mr verbs.MemoryRegion
			fresh := func() {
				_, c, s = newPair(t)
				around = bytes.Repeat([]byte{0xa5}, 80)
				var err error
				if mr, err = s.pd.RegisterMemory(around[8:72], verbs.AccessLocalWrite|verbs.AccessRemoteRead|verbs.AccessRemoteWrite); err != nil {
					t.Fatal(err)
				}
				region := mr
				t.Cleanup(func() { region.Deregister() })
			}
			fresh()
			wcs := make([]verbs.WC, 4)
			for off := -8; off < 72; off += 3 { // not all pairs: each refusal costs a connection
				for _, n := range []int{1, 2, 7, 8, 9, 63, 64, 65, 72} {
					inside := off >= 0 && off+n <= 64
					own := c.mr.Bytes()[:n]
					for i := range own {
						own[i] = 0xa5 ^ byte(op)
					}
					sent := bytes.Clone(own)
					before := bytes.Clone(around)
					wr := verbs.SendWR{Opcode: op, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: c.mr, Length: n}}, RKey: mr.RKey(), RemoteAddr: mr.RemoteAddr() + uint64(off)}
					if _, err := c.qp.PostSend([]verbs.SendWR{wr}); err != nil {
						t.Fatal(err)
					}
					if k, err := c.cq.Poll(wcs); k != 1 || err != nil || (wcs[0].Status == verbs.StatusSuccess) != inside {
						t.Fatalf("%d bytes at %d: %v", n, off, wcs[0].Status)
					}
					if inside {
						continue
					}
					if wcs[0].Status != verbs.StatusRemoteAccess || !bytes.Equal(around, before) || !bytes.Equal(own, sent) {
						t.Fatalf("%d bytes at %d: status %v, or a byte moved", n, off, wcs[0].Status)
					}
					fresh()
				}
			}
			// And the ends of the address space.
			for _, addr := range []uint64{0, math.MaxUint64, mr.RemoteAddr() + 1<<63, math.MaxUint64 - 15} {
				wr := verbs.SendWR{Opcode: op, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: c.mr, Length: 32}}, RKey: mr.RKey(), RemoteAddr: addr}
				if _, err := c.qp.PostSend([]verbs.SendWR{wr}); err != nil {
					t.Fatal(err)
				}
				if k, _ := c.cq.Poll(wcs); k != 1 || wcs[0].Status != verbs.StatusRemoteAccess {
					t.Fatalf("at %#x: %v", addr, wcs[0].Status)
				}
				fresh()
			}
		})
	}
}

// R290, A5, A6: the key that a region had before it was registered again.
func TestA5A6StaleKey(t *testing.T) {
	for _, op := range []verbs.Opcode{verbs.RDMAWrite, verbs.RDMARead} {
		t.Run(op.String(), func(t *testing.T) {
			a := newAttack(t)
			wr := verbs.SendWR{Opcode: op, SGL: []verbs.SGE{{MR: a.c.mr, Length: 8}}, RKey: a.s.mr.RKey(), RemoteAddr: a.s.mr.RemoteAddr()}
			if err := a.s.mr.Invalidate(); err != nil {
				t.Fatal(err)
			}
			if err := a.s.mr.Reregister(a.s.mr.Bytes(), a.s.mr.Access()); err != nil {
				t.Fatal(err)
			}
			a.attempt(wr, a.s.mr)
		})
	}
}

// A8: each right alone, against each access.
func TestA8Rights(t *testing.T) {
	const lw, rr, rw = verbs.AccessLocalWrite, verbs.AccessRemoteRead, verbs.AccessRemoteWrite
	for _, tc := range []struct {
		access verbs.Access
		op     verbs.Opcode
	}{{lw | rw, verbs.RDMARead}, {rr, verbs.RDMAWrite}} {
		t.Run(fmt.Sprint(tc.op, " through ", tc.access), func(t *testing.T) {
			a := newAttack(t)
			mr, err := a.s.pd.RegisterMemory(make([]byte, 64), tc.access)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { mr.Deregister() })
			a.attempt(verbs.SendWR{Opcode: tc.op, SGL: []verbs.SGE{{MR: a.c.mr, Length: 8}}, RKey: mr.RKey(), RemoteAddr: mr.RemoteAddr()}, mr)
		})
	}
}

// A10: a peer cannot invalidate a region of another connection, or one without the right.
func TestA10Invalidate(t *testing.T) {
	for name, target := range map[string]func(a *attacked) verbs.MemoryRegion{
		"another connection's": func(a *attacked) verbs.MemoryRegion { return a.mr },
		"without the right": func(a *attacked) verbs.MemoryRegion {
			mr, err := a.s.pd.RegisterMemory(make([]byte, 64), verbs.AccessLocalWrite|verbs.AccessRemoteWrite)
			if err != nil {
				a.t.Fatal(err)
			}
			a.t.Cleanup(func() { mr.Deregister() })
			return mr
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttack(t)
			mr := target(a)
			if _, err := a.s.qp.PostRecv([]verbs.RecvWR{{}}); err != nil {
				t.Fatal(err)
			}
			a.attempt(verbs.SendWR{Opcode: verbs.SendWithInvalidate, InvalidateRKey: mr.RKey()}, mr)
		})
	}
}

// The memory that a connection costs is at most four times the bytes that it has sent, 64 KiB for
// each end, and the posted Receives. 16 attackers send small messages until the Receives are used
// up, and then use a wrong key.
func TestConnectionCostsFourTimesItsBytesAtMost(t *testing.T) {
	const attackers, messages, size = 16, 8, 16
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var kept []*side
	before := heap()
	for range attackers {
		_, c, s := newPair(t)
		for range messages {
			if _, err := s.qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: s.mr, Length: size}}}}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: c.mr, Length: size}}}}); err != nil {
				t.Fatal(err)
			}
		}
		c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.RDMAWrite, SGL: []verbs.SGE{{MR: c.mr, Length: size}}, RKey: 1}})
		if st := s.qp.State(); st != verbs.StateError {
			t.Fatalf("state %v", st)
		}
		kept = append(kept, c, s)
	}
	own := uint64(0) // bytes of the regions that this test registered
	for _, s := range kept {
		own += uint64(len(s.mr.Bytes()))
	}
	after := heap()
	limit := own + attackers*4*(messages+1)*size + uint64(len(kept))*64<<10 // for both ends
	if used := after - before; after > before && used > limit {
		t.Errorf("%d connections keep %d bytes, of which %d are the test's own; limit %d", attackers, used, own, limit)
	}
	runtime.KeepAlive(kept)
}
