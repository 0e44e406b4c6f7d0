package strangertest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// refusals are requests of the host that the stranger refuses, with the Terminate that it sends and
// the status that verbs gives the request or the connection.
var refusals = []struct {
	name   string
	wr     verbs.SendWR
	reason stranger.Code
	status verbs.Status
}{
	{"Write to an unknown STag", verbs.SendWR{Opcode: verbs.RDMAWrite, RKey: 99}, stranger.DDPInvalidSTag, verbs.StatusRemoteAccess},
	{"Write out of bounds", verbs.SendWR{Opcode: verbs.RDMAWrite, RKey: 5, RemoteAddr: 1 << 40}, stranger.DDPBounds, verbs.StatusRemoteAccess},
	{"Read from an unknown STag", verbs.SendWR{Opcode: verbs.RDMARead, RKey: 99}, stranger.RDMAPInvalidSTag, verbs.StatusRemoteAccess},
	{"Read out of bounds", verbs.SendWR{Opcode: verbs.RDMARead, RKey: 5, RemoteAddr: 1 << 40}, stranger.RDMAPBounds, verbs.StatusRemoteAccess},
	{"Read without the right", verbs.SendWR{Opcode: verbs.RDMARead, RKey: 6}, stranger.RDMAPAccess, verbs.StatusRemoteAccess},
	{"invalidate an unknown STag", verbs.SendWR{Opcode: verbs.SendWithInvalidate, InvalidateRKey: 99}, stranger.RDMAPNoInvalidate, verbs.StatusRemoteAccess},
	{"Send without a buffer", verbs.SendWR{Opcode: verbs.Send}, stranger.DDPNoBuffer, verbs.StatusRNRRetryExceeded},
	{"Send that is too long", verbs.SendWR{Opcode: verbs.Send}, stranger.DDPTooLong, verbs.StatusRemoteInvalidRequest},
}

// A Terminate of the peer ends the connection with the status that fits its reason, in words.
func TestTerminateOfThePeerSaysWhy(t *testing.T) {
	for _, tt := range refusals {
		for _, initiator := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, initiator %t", tt.name, initiator), func(t *testing.T) {
				h := newHost(t, open(t, config()))
				mr := h.region("data", make([]byte, 16), verbs.AccessLocalWrite)
				cfg := stranger.Config{Startup: enhanced(true), Regions: map[uint32]stranger.Region{
					5: {Bytes: make([]byte, 64), ReadOK: true, WriteOK: true}, 6: {Bytes: make([]byte, 64), WriteOK: true},
				}}
				switch tt.reason {
				case stranger.DDPTooLong:
					cfg.Buffers = []int{15}
				case stranger.DDPNoBuffer:
				default:
					cfg.Buffers = []int{100}
				}
				p := h.connect(initiator, cfg, nil)
				if !initiator {
					p.Write(0, 0, nil)
				}
				wr := tt.wr
				wr.SGL = []verbs.SGE{{MR: mr, Length: 16}}
				h.must(h.send(wr))
				if e := p.Next(); e.Kind != stranger.Failed || e.Terminate.Code != tt.reason {
					t.Fatalf("%v, want %v", e, tt.reason)
				}
				err := h.ended()
				if !errors.Is(err, verbs.ErrConnectionBroken) || !errors.Is(err, verbs.StatusError{Status: tt.status}) {
					t.Errorf("reason %v, want one with %v", err, tt.status)
				}
				if wc := h.next(); wr.Opcode == verbs.RDMARead && wc.Status != tt.status {
					t.Errorf("the Read has status %v, want %v", wc.Status, tt.status)
				}
				noComplaints(t, p)
			})
		}
	}
}

// Any Terminate ends the connection, also a malformed one (RFC 5040 §5.4).
func TestAnyTerminateEndsTheConnection(t *testing.T) {
	term := func(control ...byte) []byte { return control }
	for name, payload := range map[string][]byte{
		"nothing":                  nil,
		"one byte":                 term(0x12),
		"three bytes":              term(0x12, 2, 0xc0),
		"no headers":               term(0x12, 2, 0, 0),
		"headers missing":          term(0x12, 2, 0xe0, 0),
		"header cut":               term(0x11, 1, 0xc0, 0, 0, 20, 0xc1, 0x40, 0),
		"unknown layer":            term(0xf1, 1, 0, 0),
		"unknown type":             term(0x1f, 1, 0, 0),
		"unknown code":             term(0x11, 0xee, 0, 0),
		"reserved bits":            term(0x11, 1, 0x1f, 0xff),
		"local catastrophic":       term(0x00, 0, 0, 0),
		"the nibbles swapped":      term(0x21, 3, 3, 0),
		"of MPA":                   term(0x20, 2, 0, 0),
		"insufficient IRD":         term(0x20, 6, 0, 0),
		"RFC 7306 headers, longer": append(term(0x11, 1, 0xe0, 0, 0xff, 0xff), make([]byte, 400)...),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, open(t, config()))
			h.post(100)
			p := h.connect(false, stranger.Config{Startup: enhanced(true)}, nil)
			s := stranger.Segment{Last: true, DDPVersion: 1, RDMAPVersion: 1, Opcode: stranger.TerminateOp, QN: stranger.TerminateQueue, MSN: 1, Payload: payload}
			p.Put(s)
			if err := h.ended(); !errors.Is(err, verbs.ErrConnectionBroken) {
				t.Errorf("reason %v", err)
			}
			if wc := h.next(); wc.Status != verbs.StatusFlushed {
				t.Errorf("the Receive has status %v", wc.Status)
			}
			for e := p.Next(); e.Kind != stranger.Ended; e = p.Next() {
				if e.Err != nil {
					t.Errorf("%v", e)
				}
			}
		})
	}
}

// An orderly end of the stream is no error: the host's reason is ErrPeerDisconnected (RFC 5040
// §6.2), and Disconnect of the host ends the stream behind whole FPDUs.
func TestOrderlyEnd(t *testing.T) {
	for _, initiator := range []bool{false, true} {
		h := newHost(t, open(t, config()))
		p := h.connect(initiator, stranger.Config{Startup: enhanced(true)}, nil)
		p.CloseWrite()
		if err := h.ended(); !errors.Is(err, verbs.ErrPeerDisconnected) {
			t.Errorf("initiator %t: reason %v, want %v", initiator, err, verbs.ErrPeerDisconnected)
		}
		h = newHost(t, open(t, config()))
		p = h.connect(initiator, stranger.Config{Startup: enhanced(true)}, nil)
		h.must(h.qp.Disconnect())
		if e := p.Next(); e.Kind != stranger.Ended || e.Err != nil {
			t.Errorf("initiator %t: %v", initiator, e)
		}
	}
}

// A stream that breaks off within an FPDU is broken.
func TestBrokenOff(t *testing.T) {
	for n := 1; n < 28; n++ {
		h := newHost(t, open(t, config()))
		h.post(100)
		p := h.connect(false, stranger.Config{Startup: enhanced(true)}, nil)
		p.PutBytes(p.Wire(p.DueSend(stranger.Send, []byte("12345"), 0)...)[:n])
		p.CloseWrite()
		if err := h.ended(); !errors.Is(err, verbs.ErrConnectionBroken) && !errors.Is(err, verbs.ErrPeerDisconnected) {
			t.Errorf("after %d bytes: %v", n, err)
		}
		if wc := h.next(); wc.Status != verbs.StatusFlushed {
			t.Errorf("after %d bytes: status %v", n, wc.Status)
		}
	}
}

// The reasons that the documents allow for one error of a Read give it the same status, whichever
// the peer names (see docs/pitfalls.md).
func TestReadStatus(t *testing.T) {
	for _, tt := range []struct {
		reason stranger.Code
		status verbs.Status
	}{
		{stranger.RDMAPInvalidSTag, verbs.StatusRemoteAccess},
		{stranger.RDMAPBounds, verbs.StatusRemoteAccess},
		{stranger.RDMAPAccess, verbs.StatusRemoteAccess},
		{stranger.RDMAPForeignSTag, verbs.StatusRemoteAccess},
		{stranger.RDMAPWrap, verbs.StatusRemoteAccess},
		{stranger.DDPNoBuffer, verbs.StatusRemoteInvalidRequest}, // more Reads than the depth
		{stranger.RDMAPStream, verbs.StatusRemoteInvalidRequest},
		{stranger.Code{Layer: 0, Type: 0}, verbs.StatusRemoteOperation},
		{stranger.Code{Layer: 0, Type: 2, Code: 8}, verbs.StatusRemoteOperation},
	} {
		for _, headers := range []bool{true, false} {
			h := newHost(t, open(t, config()))
			mr := h.region("sink", make([]byte, 8), verbs.AccessLocalWrite)
			p := h.connect(true, stranger.Config{Startup: enhanced(true), HoldReads: true, Regions: map[uint32]stranger.Region{5: {Bytes: make([]byte, 8), ReadOK: true}}}, nil)
			h.must(h.send(verbs.SendWR{Opcode: verbs.RDMARead, RKey: 5, SGL: []verbs.SGE{{MR: mr, Length: 8}}}))
			await(t, func() bool { return p.Waiting() == 1 })
			all := p.Received()
			s := all[len(all)-1]
			e := stranger.Terminate{Code: tt.reason}
			if headers && tt.reason.Type != 0 {
				e.M, e.D, e.Length, e.DDP = true, true, uint16(len(s.Bytes())), s.Header()
				if tt.reason.Type == 1 && tt.reason.Layer == 0 {
					e.R, e.RDMA = true, s.Payload
				}
			}
			p.Terminate(e)
			err := h.ended()
			wc := h.next()
			if !headers {
				if wc.Status == verbs.StatusSuccess || !errors.Is(err, verbs.ErrConnectionBroken) {
					t.Errorf("%v without headers: status %v, reason %v", tt.reason, wc.Status, err)
				}
				continue
			}
			if !errors.Is(err, verbs.StatusError{Status: tt.status}) || e.D && wc.Status != tt.status {
				t.Errorf("%v: status %v, reason %v, want %v", tt.reason, wc.Status, err, tt.status)
			}
		}
	}
}
