package mpa_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	. "github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/mpa"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

const (
	requestKey = "4d504120 49442052 65712046 72616d65 | "
	replyKey   = "4d504120 49442052 65702046 72616d65 | "
)

// unhex reads hexadecimal bytes in groups.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Frames from the figures of RFC 5044 §7.1.1 and RFC 6581 §6 and §9, filled in by hand, and those
// that a Linux 6.1 kernel sent.
var frames = []struct {
	name, wire string
	frame      Frame
}{
	{
		"revision 1", requestKey + "00 01 0000",
		Frame{Revision: 1},
	},
	{
		"revision 1, CRC, private data", requestKey + "40 01 0003 | 616263",
		Frame{Revision: 1, CRC: true, Private: []byte("abc")},
	},
	{
		"revision 1, markers", requestKey + "80 01 0000",
		Frame{Revision: 1, Markers: true},
	},
	{
		"revision 2, not enhanced", requestKey + "00 02 0004 | 00100010",
		Frame{Revision: 2, Private: []byte{0, 16, 0, 16}},
	},
	{
		"enhanced", requestKey + "50 02 0004 | 0010 0020",
		Frame{Revision: 2, CRC: true, Enhanced: true, Setup: Setup{IRD: 16, ORD: 32}},
	},
	{
		"peer-to-peer, all indications", requestKey + "10 02 0006 | ffff ffff | beef",
		Frame{Revision: 2, Enhanced: true, Setup: Setup{IRD: Unnegotiated, ORD: Unnegotiated, PeerToPeer: true, RTR: RTRSend | RTRWrite | RTRRead}, Private: []byte{0xbe, 0xef}},
	},
	{
		"peer-to-peer, Send", requestKey + "10 02 0004 | c001 0002",
		Frame{Revision: 2, Enhanced: true, Setup: Setup{IRD: 1, ORD: 2, PeerToPeer: true, RTR: RTRSend}},
	},
	{
		"peer-to-peer, Write", requestKey + "10 02 0004 | 8001 8002",
		Frame{Revision: 2, Enhanced: true, Setup: Setup{IRD: 1, ORD: 2, PeerToPeer: true, RTR: RTRWrite}},
	},
	{
		"peer-to-peer, Read", requestKey + "10 02 0004 | 8001 4002",
		Frame{Revision: 2, Enhanced: true, Setup: Setup{IRD: 1, ORD: 2, PeerToPeer: true, RTR: RTRRead}},
	},
	{
		"reply of Linux's NFS server", replyKey + "50 02 000c | 0010 0010 | f6ab0e18 01 00 03 03",
		Frame{Kind: Reply, Revision: 2, CRC: true, Enhanced: true, Setup: Setup{IRD: 16, ORD: 16}, Private: []byte{0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3}},
	},
	{
		"rejection by Linux", replyKey + "30 02 0004 | 0010 0000",
		Frame{Kind: Reply, Revision: 2, Reject: true, Enhanced: true, Setup: Setup{IRD: 16}},
	},
	{
		"rejection, revision 1", replyKey + "20 01 0002 | 6e6f",
		Frame{Kind: Reply, Revision: 1, Reject: true, Private: []byte("no")},
	},
}

func TestFramesAreReadBack(t *testing.T) {
	for _, v := range frames {
		t.Run(v.name, func(t *testing.T) {
			wire := unhex(t, v.wire)
			got := Frame{Kind: v.frame.Kind}
			if err := got.Decode(wire); err != nil {
				t.Fatal(err)
			}
			if len(got.Private) == 0 {
				got.Private = nil
			}
			if diff := cmp.Diff(v.frame, got); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
			if n, err := PrivateLength(wire[:FrameSize], v.frame.Kind); err != nil || n != len(wire)-FrameSize {
				t.Errorf("private length %d, %v; want %d", n, err, len(wire)-FrameSize)
			}
			b, err := v.frame.Append([]byte("before"))
			if err != nil || !bytes.Equal(b, append([]byte("before"), wire...)) {
				t.Errorf("appended %x (%v), want %x", b, err, wire)
			}
			if v.frame.String() == "" {
				t.Error("no description")
			}
		})
	}
}

// What a receiver must ignore (RFC 5044 §7.1.1 Res and R; RFC 6581 §9.2).
func TestBitsWithoutMeaningAreIgnored(t *testing.T) {
	for name, tc := range map[string]struct {
		wire string
		want Frame
	}{
		"reserved bits":             {requestKey + "0f 02 0000", Frame{Revision: 2}},
		"R in a request":            {requestKey + "20 01 0000", Frame{Revision: 1}},
		"S in revision 1":           {requestKey + "10 01 0000", Frame{Revision: 1}},
		"B, C, D without A":         {requestKey + "10 02 0004 | 4001 c002", Frame{Revision: 2, Enhanced: true, Setup: Setup{IRD: 1, ORD: 2}}},
		"A without B, C, D":         {requestKey + "10 02 0004 | 8001 0002", Frame{Revision: 2, Enhanced: true, Setup: Setup{IRD: 1, ORD: 2, PeerToPeer: true}}},
		"the set-up in revision 1":  {requestKey + "10 01 0004 | 8001 8002", Frame{Revision: 1, Private: []byte{0x80, 1, 0x80, 2}}},
		"512 bytes of private data": {requestKey + "00 01 0200 | " + strings.Repeat("aa", 512), Frame{Revision: 1, Private: bytes.Repeat([]byte{0xaa}, 512)}},
	} {
		got := Frame{Kind: Request}
		err := got.Decode(unhex(t, tc.wire))
		if len(got.Private) == 0 {
			got.Private = nil
		}
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestFramesRefused(t *testing.T) {
	for _, tc := range []struct {
		name, wire string
		kind       Kind
		want       Rule
	}{
		{"other protocol", "474554202f20485454502f312e310d0a486f7374", Request, BadKey},
		{"last byte of the key", "4d504120 49442052 65712046 72616d66 00 01 0000", Request, BadKey},
		{"two initiators", requestKey + "00 01 0000", Reply, SameRole},
		{"two responders", replyKey + "00 01 0000", Request, SameRole},
		{"revision 0", requestKey + "00 00 0000", Request, BadRevision},
		{"revision 3", requestKey + "10 03 0004 00010001", Request, BadRevision},
		{"revision 255", replyKey + "10 ff 0004 00010001", Reply, BadRevision},
		{"513 bytes", requestKey + "00 01 0201", Request, PrivateDataTooLong},
		{"65535 bytes", replyKey + "00 01 ffff", Reply, PrivateDataTooLong},
		{"no set-up", requestKey + "10 02 0000", Request, SetupMissing},
		{"3 bytes of set-up", requestKey + "10 02 0003 000100", Request, SetupMissing},
		{"bytes behind", requestKey + "00 01 0001 aabb", Request, BytesBehind},
	} {
		f := Frame{Kind: tc.kind}
		err := f.Decode(unhex(t, tc.wire))
		if e := new(Error); !errors.As(err, &e) || e.Rule != tc.want || !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
		if tc.want.Reportable() {
			t.Errorf("%s: %v is reportable, before any FPDU", tc.name, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		f    Frame
		want Rule
	}{
		"513 bytes":         {Frame{Revision: 1, Private: make([]byte, 513)}, PrivateDataTooLong},
		"509 bytes, set-up": {Frame{Revision: 2, Enhanced: true, Private: make([]byte, 509)}, PrivateDataTooLong},
		"IRD":               {Frame{Revision: 2, Enhanced: true, Setup: Setup{IRD: 0x4000}}, DepthTooLarge},
		"ORD":               {Frame{Revision: 2, Enhanced: true, Setup: Setup{ORD: 0xffff}}, DepthTooLarge},
	} {
		if b, err := tc.f.Append([]byte("x")); !errors.Is(err, tc.want) || string(b) != "x" {
			t.Errorf("append, %s: %q, %v; want %v", name, b, err, tc.want)
		}
	}
}

// Every prefix of a frame is refused as Truncated.
func TestFramesTruncated(t *testing.T) {
	for _, v := range frames {
		wire := unhex(t, v.wire)
		for n := range wire {
			f := Frame{Kind: v.frame.Kind}
			if err := f.Decode(wire[:n:n]); !errors.Is(err, Truncated) {
				t.Errorf("%s: first %d of %d bytes: %v, want %v", v.name, n, len(wire), err, Truncated)
			}
		}
	}
}

func TestErrorText(t *testing.T) {
	for rule := Truncated; rule <= BadCRC; rule++ {
		if text := rule.Error(); !strings.Contains(text, "§") || strings.HasPrefix(rule.String(), "Rule(") {
			t.Errorf("rule %d: %q, %q", rule, rule.String(), text)
		}
	}
	unknown := BadCRC + 1
	if got := unknown.Error(); got != "Rule(20)" || unknown.Code() != CodeNone {
		t.Errorf("unknown rule: %q, code %d", got, unknown.Code())
	}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&Error{Rule: BadRevision, Got: 3, Want: 2}, "mpa: found 0x3, want 0x2: the revision is 1 or 2 (RFC 5044 §7.1.1 Rev, RFC 6581 §6)"},
		{&Error{Rule: SameRole, Got: 0, Want: 1}, "mpa: found an MPA request, want an MPA reply: one side is the initiator and the other the responder (RFC 5044 §7.1.2 rule 8)"},
		{&Error{Rule: MarkersRefused}, "mpa: Markers are not supported (RFC 5044 §4.3)"},
		{&Error{Rule: NoMatchingRTR, Got: 1, Want: 6}, "mpa: the peer knows Send, this side Write|Read: both sides know one ready-to-receive indication (RFC 6581 §9.2)"},
		{&Error{Rule: OutOfTurn, Got: uint64(Ready), Want: uint64(AwaitingReply)}, "mpa: in state ready, want awaiting the reply: each step of the negotiation comes once, in order (RFC 5044 §7.1.2)"},
	} {
		if got := tc.err.Error(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
	if got := State(99).String() + RTR(0).String(); got != "State(99)none" {
		t.Errorf("%q", got)
	}
}

// FuzzFrame reads arbitrary input without a panic. Append returns the same bytes for an accepted
// frame, except for those that a receiver ignores.
func FuzzFrame(f *testing.F) {
	for _, v := range frames {
		f.Add(unhex(f, v.wire), v.frame.Kind == Reply)
	}
	f.Fuzz(func(t *testing.T, b []byte, reply bool) {
		one := Frame{Kind: Request}
		if reply {
			one.Kind = Reply
		}
		if err := one.Decode(b); err != nil {
			if e := new(Error); !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		wire, err := one.Append(nil)
		if err != nil || len(wire) != len(b) {
			t.Fatalf("%v: %d bytes, want %d", err, len(wire), len(b))
		}
		two := Frame{Kind: one.Kind}
		if err := two.Decode(wire); err != nil || !cmp.Equal(one, two) {
			t.Fatalf("%v: %+v, want %+v", err, two, one)
		}
	})
}
