package strangertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// rtr are the sets of RTR options: Send, Write and Read.
func rtr(set int) stranger.Startup {
	f := enhanced(set%2 == 0)
	f.PeerToPeer, f.SendRTR, f.WriteRTR, f.ReadRTR = true, set&1 != 0, set&2 != 0, set&4 != 0
	return f
}

// The provider as responder answers each set of RTR options with one that it can do, and sends only
// behind the indication (RFC 6581 §9.2). An indication is not seen above.
func TestRTRResponder(t *testing.T) {
	for set := 1; set < 8; set++ {
		t.Run(fmt.Sprintf("options %03b", set), func(t *testing.T) {
			h := newHost(t, open(t, config()))
			h.post(100)
			f := rtr(set)
			addr, result := h.serve(nil)
			conn := h.dialTo(<-addr)
			p, err := stranger.Initiate(conn, stranger.Config{Startup: f, Buffers: []int{100}})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if !p.Peer.PeerToPeer || !p.Peer.SendRTR && !p.Peer.WriteRTR && !p.Peer.ReadRTR {
				t.Fatalf("Reply %+v without flag A or an option (RFC 6581 §9.2)", p.Peer)
			}
			if r := <-result; r.err != nil {
				t.Fatal(r.err)
			}
			mr := h.region("text", []byte("first"), verbs.AccessLocalWrite)
			h.must(h.send(verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: mr, Length: 5}}}))
			e := p.Next()
			if string(e.Payload) != "first" {
				t.Fatalf("%v", e)
			}
			p.Send(stranger.Send, []byte("second"), 0)
			if b, _, err := h.message(); string(b) != "second" || err != nil {
				t.Fatalf("message %q, %v: the RTR indication is no message of the upper layer", b, err)
			}
			noComplaints(t, p)
		})
	}
}

// A responder sends nothing before the first FPDU, whatever is posted (RFC 5044 §7.1.2 rule 4).
func TestResponderWaits(t *testing.T) {
	for _, revision := range []byte{1, 2} {
		h := newHost(t, open(t, config()))
		f := stranger.Startup{Revision: revision, Enhanced: revision == 2, IRD: 4, ORD: 4}
		if revision == 1 {
			f.IRD, f.ORD = 0, 0
		}
		p, _ := h.accept(stranger.Config{Startup: f, Buffers: []int{100}}, nil)
		mr := h.region("text", []byte("first"), verbs.AccessLocalWrite)
		h.must(h.send(verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: mr, Length: 5}}}))
		if e, ok := p.Poll(20 * time.Millisecond); ok {
			t.Fatalf("revision %d: %v before the first FPDU", revision, e)
		}
		p.Write(0, 0, nil)
		if e := p.Next(); string(e.Payload) != "first" {
			t.Fatalf("revision %d: %v", revision, e)
		}
		noComplaints(t, p)
	}
}

// kinds returns the provider's RTR options of a set, by the bits of rtr.
func kinds(set int) (k iwarp.RTR) {
	for bit, kind := range map[int]iwarp.RTR{1: iwarp.RTRSend, 2: iwarp.RTRWrite, 4: iwarp.RTRRead} {
		if set&bit != 0 {
			k |= kind
		}
	}
	return k
}

// The provider as initiator offers its options, and sends one that the Reply has as its first
// message. If there is none, it sends a Terminate (RFC 6581 §9.2).
func TestRTRInitiator(t *testing.T) {
	for ours := 1; ours < 8; ours++ {
		for theirs := 1; theirs < 8; theirs++ {
			t.Run(fmt.Sprintf("options %03b, Reply %03b", ours, theirs), func(t *testing.T) {
				cfg := config()
				cfg.PeerToPeer, cfg.RTR = true, kinds(ours)
				h := newHost(t, open(t, cfg))
				h.post(100)
				conn, result := h.dial(nil)
				reply := rtr(theirs)
				p, err := stranger.Respond(conn, stranger.Config{Startup: reply, Buffers: []int{100}, Reply: func(stranger.Startup) stranger.Startup { return reply }})
				h.must(err)
				defer p.Close()
				if f, want := p.Peer, rtr(ours); !f.PeerToPeer || f.SendRTR != want.SendRTR || f.WriteRTR != want.WriteRTR || f.ReadRTR != want.ReadRTR {
					t.Errorf("Request %+v, want the options %03b", f, ours)
				}
				r := <-result
				if ours&theirs == 0 {
					if r.err == nil {
						t.Error("Dial succeeds")
					}
					if e := p.Next(); e.Kind != stranger.Terminated || e.Terminate.Code != stranger.MPANoRTR {
						t.Errorf("%v, want %v", e, stranger.MPANoRTR)
					}
					return
				}
				h.must(r.err)
				p.Send(stranger.Send, []byte("first"), 0) // waits for the indication
				if b, _, err := h.message(); string(b) != "first" || err != nil {
					t.Fatalf("message %q, %v", b, err)
				}
				mr := h.region("text", []byte("second"), verbs.AccessLocalWrite)
				h.must(h.send(verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: mr, Length: 6}}}))
				if e := p.Next(); string(e.Payload) != "second" {
					t.Fatalf("%v", e)
				}
				if wc, err := h.completion(verbs.WCSend); err != nil {
					t.Errorf("completion %+v, %v", wc, err)
				}
				if len(h.early) > 0 {
					t.Errorf("completions %+v: the indication is no request of the upper layer", h.early)
				}
				noComplaints(t, p)
			})
		}
	}
}
