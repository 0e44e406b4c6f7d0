package ibverbs

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// kinds has a device for each promise about keys in SECURITY.md. The quirks make it such a device.
var kinds = []struct {
	name      string
	transport abi.Transport
	quirks    quirks.Quirks
}{
	{"windows", abi.TransportIB, quirks.For("mlx5", abi.TransportIB)},
	{"registrations", abi.TransportIB, quirks.For("bnxt_re", abi.TransportIB)},
	{"registrations with keys that are counted", abi.TransportIB, quirks.For("rxe", abi.TransportIB)},
	{"windows over iWARP", abi.TransportIWARP, quirks.For("irdma", abi.TransportIWARP)},
	{"registrations over iWARP", abi.TransportIWARP, quirks.For("cxgb4", abi.TransportIWARP)},
}

// access makes the peer access 8 bytes by a key. It reports whether the device let it, and waits
// until both sides have lost the connection if not.
func (s *side) access(op verbs.Opcode, key uint32, addr uint64, victim *side) bool {
	s.t.Helper()
	buf, err := s.pd.Alloc(8)
	s.must(err)
	copy(buf, "attacked")
	mr, err := s.pd.RegisterMemory(buf, verbs.AccessLocalWrite)
	s.must(err)
	s.t.Cleanup(func() {
		s.must(mr.Deregister())
		s.must(s.pd.Free(buf))
	})
	if op == verbs.RDMARead {
		clear(buf)
	}
	s.send(verbs.SendWR{WRID: 7, Opcode: op, Flags: verbs.SendSignaled, RKey: key, RemoteAddr: addr, SGL: []verbs.SGE{{MR: mr, Length: 8}}})
	wc := s.wait(1)[0]
	if wc.Status == verbs.StatusSuccess {
		return true
	}
	if op == verbs.RDMARead && !bytes.Equal(buf, make([]byte, 8)) {
		s.t.Errorf("a Read that was refused has brought %q", buf)
	}
	s.ends()
	if victim != nil {
		victim.waitLost()
	}
	return false
}

// waitLost waits until the connection is lost. Over InfiniBand a side without an event finds out
// when it sends.
func (s *side) waitLost() {
	s.t.Helper()
	s.until("the connection is lost", func(q *queuePair) bool {
		if !q.end.begun {
			q.ping(verbs.RDMAWrite)
		}
		return q.end.begun
	})
	s.ends()
}

// A peer reaches the memory offered to it, with the rights and within the bounds of the offer. Each
// other access fails, changes nothing, and costs the peer its connection. The victim is the client,
// and the attacker the server.
func TestPeerReachesWhatIsOfferedOnly(t *testing.T) {
	const size, at = 64, 16 // of the offer, with 16 bytes of the victim before it and after it
	type attempt struct {
		name   string
		rights verbs.Access
		op     verbs.Opcode
		off    int // of the access in the offer
		key    func(r *region) uint32
		ok     bool
	}
	own := func(r *region) uint32 { return r.RKey() }
	attempts := []attempt{
		{"write to an offer", remoteRW, verbs.RDMAWrite, 0, own, true},
		{"write to the end of an offer", remoteRW, verbs.RDMAWrite, size - 8, own, true},
		{"read of an offer", remoteRW, verbs.RDMARead, 8, own, true},
		{"write across the end", remoteRW, verbs.RDMAWrite, size - 7, own, false},
		{"write before the begin", remoteRW, verbs.RDMAWrite, -1, own, false},
		{"read across the end", remoteRW, verbs.RDMARead, size - 7, own, false},
		{"read before the begin", remoteRW, verbs.RDMARead, -8, own, false},
		{"write to an offer for Reads", verbs.AccessLocalWrite | verbs.AccessRemoteRead, verbs.RDMAWrite, 0, own, false},
		{"read of an offer for Writes", verbs.AccessLocalWrite | verbs.AccessRemoteWrite, verbs.RDMARead, 0, own, false},
		{"another low byte", remoteRW, verbs.RDMARead, 0, func(r *region) uint32 { return r.RKey() ^ 1 }, false},
		{"the next index", remoteRW, verbs.RDMARead, 0, func(r *region) uint32 { return r.RKey() + 1<<8 }, false},
		{"the local key of the slab", remoteRW, verbs.RDMAWrite, 0, func(r *region) uint32 { return r.pd.slabs[0].lkey }, false},
		{"the key of a region without a right", verbs.AccessLocalWrite, verbs.RDMARead, 0, func(r *region) uint32 { return r.pd.slabs[0].lkey }, false},
		{"key 0", remoteRW, verbs.RDMARead, 0, func(*region) uint32 { return 0 }, false},
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			for _, a := range attempts {
				t.Run(a.name, func(t *testing.T) {
					f := openFake(t, k.transport, k.quirks, noPings)
					victim, peer := connectedSides(t, f)
					buf, err := victim.pd.Alloc(at + size + at)
					victim.must(err)
					for i := range buf {
						buf[i] = byte(i)
					}
					before := bytes.Clone(buf)
					mr, err := victim.pd.RegisterMemory(buf[at:at+size], a.rights)
					victim.must(err)
					r := mr.(*region)
					addr := uint64(r.addr) + uint64(int64(a.off))
					if got := peer.access(a.op, a.key(r), addr, victim); got != a.ok {
						t.Errorf("the device lets the peer do that: %v, want %v", got, a.ok)
					}
					if a.ok && a.op == verbs.RDMAWrite {
						copy(before[at+a.off:], "attacked")
					}
					if !bytes.Equal(buf, before) {
						t.Errorf("the memory is %q, want %q", buf, before)
					}
					victim.must(mr.Deregister())
					victim.must(victim.pd.Free(buf))
				})
			}
		})
	}
}

// A key works on the connection that it was offered on. Another peer, or the same one on another
// connection, loses its own connection, and no other, if it tries the key.
func TestKeyOfAnotherConnectionIsRefused(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			f := openFake(t, k.transport, k.quirks, noPings)
			victim, friend := connectedSides(t, f)
			other, attacker := connectedSides(t, f)
			r := victim.region(8, remoteRW)
			copy(r.Bytes(), "original")
			if attacker.access(verbs.RDMAWrite, r.RKey(), r.RemoteAddr(), other) {
				t.Error("another peer has written")
			}
			if got := string(r.Bytes()); got != "original" {
				t.Errorf("the memory is %q", got)
			}
			if !friend.access(verbs.RDMARead, r.RKey(), r.RemoteAddr(), victim) {
				t.Error("the peer of the offer cannot read it any more")
			}
			victim.connected()
		})
	}
}

// An offer is over when it was invalidated: its key is refused, also after the memory was offered
// again.
func TestKeyIsRefusedAfterItsInvalidation(t *testing.T) {
	for _, k := range kinds {
		for _, offered := range []bool{false, true} { // again, by another key
			for _, way := range []string{"Invalidate", "Deregister", "Revoke"} {
				t.Run(k.name+", "+way, func(t *testing.T) {
					f := openFake(t, k.transport, k.quirks, noPings)
					victim, peer := connectedSides(t, f)
					r := victim.region(8, remoteRW)
					buf := r.Bytes()
					copy(buf, "original")
					key, addr := r.RKey(), r.RemoteAddr()
					switch way {
					case "Invalidate":
						victim.must(r.Invalidate())
					case "Deregister":
						victim.must(r.Deregister())
					case "Revoke":
						done := make(chan error, 1)
						victim.must(victim.qp.Revoke([]verbs.MemoryRegion{r}, func(err error) { done <- err }))
						victim.must(<-done)
					}
					if offered {
						mr, err := victim.pd.RegisterMemory(buf, remoteRW)
						victim.must(err)
						defer func() { victim.must(mr.Deregister()) }()
						if mr.RKey() == key {
							t.Errorf("key %#x names the next registration", key)
						}
					}
					if peer.access(verbs.RDMAWrite, key, addr, victim) {
						t.Error("the peer has written")
					}
					if got := string(buf); got != "original" {
						t.Errorf("the memory is %q", got)
					}
				})
			}
		}
	}
}

// raw posts a request that the provider would refuse.
func (s *side) raw(wire abi.SendWR) {
	s.t.Helper()
	q := s.qp
	q.mu.Lock()
	defer q.mu.UnlockNotify()
	seq := q.sq.push()
	*q.sq.at(seq) = request{kind: kindPing, signaled: true}
	s.must(q.post(seq, wire))
}

// A peer that invalidates what it was not asked to invalidate loses its connection, or its own
// offer, and reaches nothing by it.
func TestInvalidationThatWasNotAskedForHarmsThePeerOnly(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			f := openFake(t, k.transport, k.quirks, noPings)
			victim, peer := connectedSides(t, f)
			other, _ := connectedSides(t, f)
			r := victim.region(8, remoteRW) // without AccessRemoteInvalidate
			key, addr := r.RKey(), r.RemoteAddr()
			victim.recv(1, victim.region(8, verbs.AccessLocalWrite))
			peer.raw(abi.SendWR{Opcode: abi.OpSendInv, Invalidate: key, RKey: key})
			wc := victim.wait(1)[0]
			ended := wc.Status != verbs.StatusSuccess
			if !ended && r.State() == verbs.MRValid && f.c.Attributes().RemoteInvalidate {
				t.Error("the region is valid, although the peer has invalidated it")
			}
			if ended {
				victim.waitLost()
			} else {
				victim.must(r.Invalidate())
				if peer.access(verbs.RDMARead, key, addr, victim) {
					t.Error("the peer can read the region after its invalidation")
				}
			}
			other.connected()
		})
	}
}

// Over iWARP the target of a Read allows the peer to write, since its answer is a Write to the
// device: a peer has the key of such a target, and can write there until the region is invalid.
// Other devices keep the key to themselves.
func TestTargetOfAReadIsOpenToThePeerOveriWARPOnly(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			f := openFake(t, k.transport, k.quirks, noPings)
			victim, peer := connectedSides(t, f)
			target := victim.region(8, verbs.AccessLocalWrite)
			copy(target.Bytes(), "original")
			open := k.quirks.SinkNeedsRemoteWrite
			if got := peer.access(verbs.RDMAWrite, target.lkey, uint64(target.addr), nil); got != open {
				t.Errorf("the peer can write to a target: %v, want %v", got, open)
			}
			if got := string(target.Bytes()) == "attacked"; got != open {
				t.Errorf("the memory is %q", target.Bytes())
			}
			victim.must(target.Invalidate())
			if open && peer.access(verbs.RDMAWrite, target.lkey, uint64(target.addr), nil) {
				t.Error("the peer can write to a target that is invalid")
			}
		})
	}
}

// Requests to connect beyond the backlog are refused. They take no memory of the server, which
// answers those that wait.
func TestFloodOfRequestsIsRefused(t *testing.T) {
	const backlog, flood = 2, 20
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			f := openFake(t, k.transport, k.quirks, Config{Backlog: backlog, PeerTimeout: -1})
			ln, err := f.s.Listen(t.Context(), "127.0.0.2:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			before := f.net.Objects()
			results := make(chan error, flood)
			for range flood {
				c := newSide(t, f.c, verbs.QPConfig{MaxSendWR: 4, MaxRecvWR: 4})
				go func() {
					_, err := c.dev.Dial(t.Context(), ln.Addr(), c.qp, nil)
					results <- err
				}()
			}
			for range flood - backlog {
				err := <-results
				if rejected := new(verbs.RejectedError); !errors.As(err, &rejected) && !errors.Is(err, verbs.ErrConnectionRefused) {
					t.Errorf("a request beyond the backlog: %v", err)
				}
			}
			if ids := f.net.Objects().IDs - before.IDs; ids > 2*backlog {
				t.Errorf("%d rdma_cm_ids are left for %d requests that wait", ids, backlog)
			}
			for range backlog {
				req, err := ln.Accept(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				s := newSide(t, f.s, verbs.QPConfig{MaxSendWR: 4, MaxRecvWR: 4})
				if _, err := req.Accept(t.Context(), s.qp, nil); err != nil {
					t.Error(err)
				}
				if err := <-results; err != nil {
					t.Error(err)
				}
			}
		})
	}
}
