package strangertest

import (
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// replies are Replies to the provider's Request, which is of revision 2 and enhanced unless it says
// otherwise. fails says that Dial must fail.
var replies = []struct {
	name, octets, cite string
	fails              bool
	is                 error // that the error must wrap, if not nil
}{
	{"accepted", rep + "50 02 0004 0010 0010", "RFC 6581 §9.1", false, nil},
	{"accepted, no CRC in the Reply", rep + "10 02 0004 0010 0010", "RFC 5044 §7.1.1: C in either frame suffices", false, nil},
	{"reserved bits", rep + "57 02 0004 0010 0010", "RFC 5044 §7.1.1: not checked", false, nil},
	{"private data", rep + "50 02 0006 0010 0010 'hi'", "RFC 6581 §9", false, nil},
	{"508 bytes of private data", rep + "50 02 0200 0010 0010" + strings.Repeat("5a", 508), "RFC 5044 §7.1.1", false, nil},
	{"IRD 1, ORD 0", rep + "50 02 0004 0001 0000", "RFC 6581 §9.1", false, nil},
	{"automatic", rep + "50 02 0004 3fff 3fff", "RFC 6581 §9.1: the initiator's depths stay", false, nil},
	{"flags B, C, D without A", rep + "50 02 0004 4010 c010", "RFC 6581 §9.2: they must be ignored", false, nil},
	{"rejected", rep + "70 02 0004 0010 0010", "RFC 5044 §7.1.2 rule 3", true, nil},
	{"rejected, not enhanced", rep + "20 02 0000", "RFC 5044 §7.1.2 rule 3", true, nil},
	{"rejected, revision 1", rep + "20 01 0000", "RFC 5044 §7.1.2 rule 3", true, nil},
	{"the key of a Request", req + "50 02 0004 0010 0010", "RFC 5044 §7.1.2 rule 8", true, nil},
	{"another key", "'HTTP/1.1 400 Bad' 50 02 0004 0010 0010", "RFC 5044 §7.1.2 rule 5", true, nil},
	{"revision 0", rep + "40 00 0000", "RFC 5044 §7.1.1", true, nil},
	{"revision 3", rep + "50 03 0004 0010 0010", "RFC 5044 §7.1.1", true, nil},
	{"513 bytes of private data", rep + "50 02 0201 0010 0010" + strings.Repeat("5a", 509), "RFC 5044 §7.1.1", true, nil},
	{"enhanced without data", rep + "50 02 0000", "RFC 6581 §6", true, nil},
	{"enhanced with 3 bytes", rep + "50 02 0003 001000", "RFC 6581 §6", true, nil},
	{"Markers", rep + "d0 02 0004 0010 0010", "RFC 5044 §4.3; see docs/iwarp.md", true, nil},
	{"closed without a Reply", "", "RFC 5044 §8 code 1", true, nil},
	{"closed within the key", "'MPA ID R'", "RFC 5044 §8 code 1", true, nil},
	{"closed within private data", rep + "50 02 0008 0010 0010 '12'", "RFC 5044 §7.1.1", true, nil},
}

// The provider as initiator takes each Reply as the documents want.
func TestInitiatorTakesEachReply(t *testing.T) {
	for _, tt := range replies {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, open(t, config()))
			h.post(100)
			conn, result := h.dial(&verbs.ConnParams{InitiatorDepth: 16, ResponderResources: 16})
			request, err := stranger.ReadStartup(conn, false)
			h.must(err)
			if request.Markers || request.Reject || request.Reserved != 0 {
				t.Errorf("Request %+v with M, R or reserved bits (RFC 5044 §7.1.1)", request)
			}
			b := frame(t, tt.octets)
			if _, err := conn.Write(b); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(tt.name, "closed") {
				conn.Close()
			}
			r := <-result
			if (r.err != nil) != tt.fails {
				t.Fatalf("Dial: %v, failure expected: %t (%s)", r.err, tt.fails, tt.cite)
			}
			var no *verbs.RejectedError
			if strings.HasPrefix(tt.name, "rejected") && !errors.As(r.err, &no) {
				t.Errorf("Dial: %v, want a RejectedError", r.err)
			}
			if tt.fails {
				if h.qp.State() != verbs.StateError {
					t.Errorf("state %v", h.qp.State())
				}
				return
			}
			reply, err := stranger.ReadStartup(strings.NewReader(string(b)), true)
			h.must(err)
			if string(r.info.PrivateData) != string(reply.Private) {
				t.Errorf("private data %q, want %q", r.info.PrivateData, reply.Private)
			}
			p := stranger.Attach(conn, stranger.Config{Startup: reply, Buffers: []int{100}}, false, request)
			defer p.Close()
			mr := h.region("text", []byte("hello"), verbs.AccessLocalWrite)
			h.must(h.send(verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: mr, Length: 5}}}))
			if e := p.Next(); string(e.Payload) != "hello" {
				t.Fatalf("%v", e)
			}
			p.Send(stranger.Send, []byte("there"), 0)
			if b, _, err := h.message(); string(b) != "there" || err != nil {
				t.Fatalf("message %q, %v", b, err)
			}
			noComplaints(t, p)
		})
	}
}

// The depths of both ends follow from both frames, in both roles (RFC 6581 §9.1), and ConnInfo has
// them.
func TestDepthsFollowFromBothFrames(t *testing.T) {
	min3 := func(a, b int) int {
		if b == stranger.Automatic {
			return a
		}
		return min(a, b)
	}
	for _, host := range []struct{ initiator, resources int }{{16, 16}, {4, 4}, {1, 8}, {8, 1}, {-1, 4}, {4, -1}} {
		for _, peer := range []struct{ ird, ord uint16 }{{16, 16}, {1, 1}, {4, 2}, {2, 4}, {0x3ffe, 0x3ffe}, {0x3fff, 0x3fff}, {4, 0}} {
			for _, initiator := range []bool{false, true} {
				h := newHost(t, open(t, config()))
				params := &verbs.ConnParams{InitiatorDepth: host.initiator, ResponderResources: host.resources}
				cfg := stranger.Config{Startup: stranger.Startup{CRC: true, Enhanced: true, IRD: peer.ird, ORD: peer.ord}}
				var p *stranger.Endpoint
				var info *verbs.ConnInfo
				if initiator {
					p, info = h.respond(cfg, params)
				} else {
					if int(peer.ord) > max(0, host.resources) && peer.ord < stranger.Automatic {
						continue // the responder may reject: see TestResponderAnswersEachRequest
					}
					p, info = h.accept(cfg, params)
				}
				if got, most := info.InitiatorDepth, min3(max(0, host.initiator), int(peer.ird)); got > most {
					t.Errorf("host %+v, peer %+v, initiator %t: initiator depth %d, at most %d is allowed", host, peer, initiator, got, most)
				}
				if got, most := info.ResponderResources, max(0, host.resources); got > most {
					t.Errorf("host %+v, peer %+v, initiator %t: responder resources %d, at most %d", host, peer, initiator, got, most)
				}
				if f := p.Peer; int(f.IRD) != stranger.Automatic && int(f.IRD) > max(0, host.resources) {
					t.Errorf("host %+v, peer %+v, initiator %t: the frame has IRD %d", host, peer, initiator, f.IRD)
				}
				p.Close()
			}
		}
	}
}

// An initiator whose IRD is less than the responder's ORD raises it, or sends a Terminate (RFC 6581
// §9.1).
func TestInsufficientIRD(t *testing.T) {
	for _, ord := range []uint16{3, 100, 0x3ffe} {
		h := newHost(t, open(t, config()))
		conn, result := h.dial(&verbs.ConnParams{InitiatorDepth: 2, ResponderResources: 2})
		reply := stranger.Startup{CRC: true, Enhanced: true, IRD: 2, ORD: ord}
		p, err := stranger.Respond(conn, stranger.Config{Startup: reply, Reply: func(stranger.Startup) stranger.Startup { return reply }})
		h.must(err)
		r := <-result
		if r.err == nil {
			if r.info.ResponderResources < int(ord) {
				t.Errorf("ORD %d: responder resources %d, and no Terminate", ord, r.info.ResponderResources)
			}
			continue
		}
		if e := p.Next(); e.Kind != stranger.Terminated || e.Terminate.Code != stranger.MPADepth {
			t.Errorf("ORD %d: %v, want %v", ord, e, stranger.MPADepth)
		}
		p.Close()
	}
}

// A Reply whose bit S or flag A differs from the Request's is wrong. The initiator fails, or goes
// on without what the Reply lacks (RFC 6581 §9.2, §10).
func TestReplyThatDiffers(t *testing.T) {
	for _, tt := range []struct {
		name       string
		peerToPeer bool
		revision   int
		octets     string
	}{
		{"no S", false, 2, rep + "40 02 0000"},
		{"no S, revision 1", false, 2, rep + "40 01 0000"},
		{"S without being asked", false, 1, rep + "50 02 0004 0010 0010"},
		{"no A", true, 2, rep + "50 02 0004 0010 0010"},
		{"A without being asked", false, 2, rep + "50 02 0004 8010 8010"},
		{"A without an option", true, 2, rep + "50 02 0004 8010 0010"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config()
			cfg.PeerToPeer, cfg.Revision = tt.peerToPeer, tt.revision
			h := newHost(t, open(t, cfg))
			h.post(10)
			conn, result := h.dial(nil)
			request, err := stranger.ReadStartup(conn, false)
			h.must(err)
			if request.Enhanced != (tt.revision == 2) || request.Revision != byte(tt.revision) {
				t.Errorf("Request %+v, want revision %d", request, tt.revision)
			}
			b := frame(t, tt.octets)
			_, err = conn.Write(b)
			h.must(err)
			r := <-result
			t.Logf("Dial: %v", r.err)
			if r.err != nil {
				return
			}
			reply, err := stranger.ReadStartup(strings.NewReader(string(b)), true)
			h.must(err)
			p := stranger.Attach(conn, stranger.Config{Startup: reply, Buffers: []int{10}}, false, request)
			defer p.Close()
			h.must(h.send(verbs.SendWR{Opcode: verbs.Send}))
			if e := p.Next(); e.Kind != stranger.Message {
				t.Errorf("%v", e)
			}
		})
	}
}
