package strangertest

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// frame returns octets: hex, and texts in quotes.
func frame(t testing.TB, s string) (b []byte) {
	t.Helper()
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 {
			b = append(b, part...)
			continue
		}
		octets, err := hex.DecodeString(strings.ReplaceAll(part, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, octets...)
	}
	return b
}

// outcome is the answer of a responder to a Request.
type outcome string

const (
	accepted outcome = "accepted"
	rejected outcome = "rejected"
	closed   outcome = "closed"
)

const (
	req = "'MPA ID Req Frame'"
	rep = "'MPA ID Rep Frame'"
)

// requests are Requests, with all outcomes that the documents allow.
var requests = []struct {
	name, octets, cite string
	want               []outcome
	check              func(r *stranger.Startup) error
}{
	{"revision 1", req + "00 01 0000", "RFC 6581 §6: revision 1 must be accepted", []outcome{accepted}, plain},
	{"revision 1 with CRC", req + "40 01 0000", "RFC 5044 §7.1.1", []outcome{accepted}, plain},
	{"revision 1 with private data", req + "40 01 0003 'abc'", "RFC 5044 §7.1.1", []outcome{accepted}, plain},
	{"revision 1 with 512 bytes", req + "40 01 0200" + strings.Repeat("5a", 512), "RFC 5044 §7.1.1", []outcome{accepted}, plain},
	{"bit R in a Request", req + "20 01 0000", "RFC 5044 §7.1.1: not checked in a Request", []outcome{accepted}, plain},
	{"reserved bits", req + "0f 01 0000", "RFC 5044 §7.1.1: not checked", []outcome{accepted}, plain},
	{"bit S in revision 1", req + "10 01 0000", "RFC 5044 §7.1.1: reserved in revision 1, not checked", []outcome{accepted, closed}, nil},
	{"revision 2, not enhanced", req + "00 02 0000", "RFC 6581 §10: an unenhanced Request gets an unenhanced Reply", []outcome{accepted}, plain},
	{"revision 2, not enhanced, private data", req + "40 02 0002 'ab'", "RFC 6581 §10", []outcome{accepted}, plain},
	{"revision 2", req + "10 02 0004 0004 0004", "RFC 6581 §10", []outcome{accepted}, withDepths(4, 4)},
	{"revision 2, CRC", req + "50 02 0004 0004 0004", "RFC 6581 §10", []outcome{accepted}, withDepths(4, 4)},
	{"revision 2, reserved bits", req + "17 02 0004 0004 0004", "RFC 6581 §6", []outcome{accepted}, withDepths(4, 4)},
	{"flags B, C, D without A", req + "10 02 0004 4004 c004", "RFC 6581 §9.2: they must be ignored, and be 0 in the Reply", []outcome{accepted}, noFlags},
	{"IRD 0", req + "10 02 0004 0000 0004", "RFC 6581 §9.1: the responder's ORD is at most that", []outcome{accepted, rejected}, withDepths(0, 4)},
	{"ORD 0", req + "10 02 0004 0004 0000", "RFC 6581 §9.1", []outcome{accepted}, withDepths(4, 0)},
	{"both 0", req + "10 02 0004 0000 0000", "RFC 6581 §9.1", []outcome{accepted, rejected}, withDepths(0, 0)},
	{"ORD beyond the device", req + "10 02 0004 0004 3ffe", "RFC 6581 §9.1", []outcome{accepted, rejected}, nil},
	{"automatic IRD", req + "10 02 0004 3fff 0004", "RFC 6581 §9.1: the Reply's ORD is 0x3fff", []outcome{accepted}, func(r *stranger.Startup) error {
		if r.ORD != stranger.Automatic {
			return fmt.Errorf("ORD %#x for IRD 0x3fff, want 0x3fff", r.ORD)
		}
		return nil
	}},
	{"automatic ORD", req + "10 02 0004 0004 3fff", "RFC 6581 §9.1: the Reply's IRD is 0x3fff", []outcome{accepted}, func(r *stranger.Startup) error {
		if r.IRD != stranger.Automatic {
			return fmt.Errorf("IRD %#x for ORD 0x3fff, want 0x3fff", r.IRD)
		}
		return nil
	}},
	{"peer-to-peer without an RTR option", req + "10 02 0004 8004 0004", "RFC 6581 §9.2: the Reply has an option of the responder's", []outcome{accepted, rejected, closed}, func(r *stranger.Startup) error {
		if !r.PeerToPeer || !r.SendRTR && !r.WriteRTR && !r.ReadRTR {
			return fmt.Errorf("Reply %+v without flag A or an option", r)
		}
		return nil
	}},
	{"Markers", req + "80 01 0000", "RFC 5044 §4.3: a sender must be able to; see docs/iwarp.md", []outcome{rejected, closed}, nil},
	{"Markers, revision 2", req + "90 02 0004 0004 0004", "RFC 5044 §4.3; see docs/iwarp.md", []outcome{rejected, closed}, nil},
	{"revision 0", req + "c0 00 0000", "RFC 5044 §7.1.1", []outcome{closed}, nil},
	{"revision 3", req + "10 03 0004 0004 0004", "RFC 5044 §7.1.1", []outcome{closed, rejected}, nil},
	{"revision 255", req + "00 ff 0000", "RFC 5044 §7.1.1", []outcome{closed, rejected}, nil},
	{"the key of a Reply", rep + "00 01 0000", "RFC 5044 §7.1.2 rule 8", []outcome{closed}, nil},
	{"another key", "'MPA ID Req frame' 00 01 0000", "RFC 5044 §7.1.2 rule 5", []outcome{closed}, nil},
	{"HTTP", "'GET / HTTP/1.1' 0d0a 'Host: a' 0d0a0d0a", "RFC 5044 §7.1.2 rule 5", []outcome{closed}, nil},
	{"zeros", strings.Repeat("00", 20), "RFC 5044 §7.1.2 rule 5", []outcome{closed}, nil},
	{"513 bytes of private data", req + "00 01 0201" + strings.Repeat("5a", 513), "RFC 5044 §7.1.1", []outcome{closed}, nil},
	{"65535 bytes of private data", req + "00 01 ffff", "RFC 5044 §7.1.1", []outcome{closed}, nil},
	{"enhanced without data", req + "10 02 0000", "RFC 6581 §6", []outcome{closed}, nil},
	{"enhanced with 3 bytes", req + "10 02 0003 000400", "RFC 6581 §6", []outcome{closed}, nil},
}

// plain checks a Reply to a Request that is not enhanced.
func plain(r *stranger.Startup) error {
	if r.Enhanced || r.Revision > 2 {
		return fmt.Errorf("enhanced: %t, revision %d, for a Request that is not (RFC 6581 §10)", r.Enhanced, r.Revision)
	}
	return nil
}

// withDepths checks an enhanced Reply to a Request with these depths.
func withDepths(ird, ord uint16) func(r *stranger.Startup) error {
	return func(r *stranger.Startup) error {
		if !r.Enhanced || r.Revision < 2 || r.ORD > ird || !(r.IRD >= ord || r.Reject) || r.PeerToPeer {
			return fmt.Errorf("Reply %+v to IRD %d, ORD %d (RFC 6581 §9.1)", r, ird, ord)
		}
		return noFlags(r)
	}
}

// noFlags checks that no control flag is set.
func noFlags(r *stranger.Startup) error {
	if r.PeerToPeer || r.SendRTR || r.WriteRTR || r.ReadRTR {
		return fmt.Errorf("flags in Reply %+v (RFC 6581 §9.2)", r)
	}
	return nil
}

// The provider answers every Request in a way that the documents allow.
func TestResponderAnswersEachRequest(t *testing.T) {
	for _, tt := range requests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, open(t, config()))
			addr, result := h.serve(nil)
			conn := h.dialTo(<-addr)
			b := frame(t, tt.octets)
			if _, err := conn.Write(b); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(tt.name, "zeros") || strings.Contains(tt.name, "HTTP") {
				conn.(*net.TCPConn).CloseWrite()
			}
			got, reply := answer(t, conn)
			if !contains(tt.want, got) {
				t.Fatalf("%s, want one of %v (%s)", got, tt.want, tt.cite)
			}
			if got == closed {
				return
			}
			if reply.Reserved != 0 || reply.Markers {
				t.Errorf("Reply %+v with reserved bits or Markers (RFC 5044 §7.1.1)", reply)
			}
			if tt.check != nil {
				if err := tt.check(&reply); err != nil {
					t.Error(err)
				}
			}
			if got == accepted && !reply.PeerToPeer {
				works(t, h, conn, b, reply, result)
			}
		})
	}
}

func contains(all []outcome, o outcome) bool {
	for _, a := range all {
		if a == o {
			return true
		}
	}
	return false
}

// answer reads the answer to a Request.
func answer(t *testing.T, conn net.Conn) (outcome, stranger.Startup) {
	t.Helper()
	reply, err := stranger.ReadStartup(conn, true)
	switch {
	case errors.Is(err, io.EOF) || isReset(err):
		return closed, reply
	case err != nil:
		t.Fatal(err)
	case reply.Reject:
		return rejected, reply
	}
	return accepted, reply
}

// isReset reports whether a stream ended with a reset.
func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}

// works checks that a connection that was accepted carries a message each way.
func works(t *testing.T, h *host, conn net.Conn, request []byte, reply stranger.Startup, result <-chan connected) {
	t.Helper()
	mine, err := stranger.ReadStartup(bytes.NewReader(request), false)
	h.must(err)
	p := stranger.Attach(conn, stranger.Config{Startup: mine, Buffers: []int{100}}, true, reply)
	defer p.Close()
	h.post(100)
	p.Send(stranger.Send, []byte("there"), 0)
	if r := <-result; r.err != nil {
		t.Fatal(r.err)
	}
	if b, _, err := h.message(); string(b) != "there" || err != nil {
		t.Fatalf("message %q, %v", b, err)
	}
	mr := h.region("text", []byte("back"), verbs.AccessLocalWrite)
	h.must(h.send(verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: mr, Length: 4}}}))
	if e := p.Next(); string(e.Payload) != "back" {
		t.Fatalf("%v", e)
	}
	noComplaints(t, p)
}
