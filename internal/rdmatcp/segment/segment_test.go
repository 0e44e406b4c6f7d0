package segment_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/crc"
	. "github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

const connID = 0x0123456789abcdef

// unhex reads hexadecimal bytes in groups.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type vector struct {
	name             string
	wire             string
	header           Header
	control, payload string
}

// One segment of each type, and extreme ones, with CRCs from a division bit by bit.
var vectors = []vector{
	{
		"send", "01 0c 0025 | 0123456789abcdef | 00000010 | 0000 00 00 | 00000000 | 48656c6c6f2c2052444d412121 | 000000 | 18c563e0",
		Header{Type: Send, Begin: true, End: true, Length: 37, ConnID: connID, Number: 0x10},
		"", "Hello, RDMA!!",
	},
	{
		"write", "01 0d 0026 | 0123456789abcdef | 00000011 | 0000 00 00 | cafe0001 | 00001000 | 00000006 | deadbeef0102 | 0000 | 177be853",
		Header{Type: Write, Begin: true, End: true, Length: 38, ConnID: connID, Number: 0x11, BufferID: 0xcafe0001, Offset: 0x1000, RDMALength: 6},
		"", "\xde\xad\xbe\xef\x01\x02",
	},
	{
		"read request", "01 0e 0020 | 0123456789abcdef | 00000012 | 0000 00 00 | cafe0002 | 00000020 | 00000008 | d0a46a98",
		Header{Type: ReadRequest, Begin: true, End: true, Length: 32, ConnID: connID, Number: 0x12, BufferID: 0xcafe0002, Offset: 0x20, RDMALength: 8},
		"", "",
	},
	{
		"read response", "01 0f 0020 | 0123456789abcdef | 00000012 | ffff 00 00 | 00000000 | 8081828384858687 | 2559ef79",
		Header{Type: ReadResponse, Begin: true, End: true, Length: 32, ConnID: connID, Number: 0x12, Order: NoOrder},
		"", "\x80\x81\x82\x83\x84\x85\x86\x87",
	},
}

func TestSegmentsAreReadBack(t *testing.T) { // R336 to R338, R359
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			wire := unhex(t, v.wire)
			var h Header
			control, payload, n, err := Open(append(wire, "the next one"...), &h)
			if err != nil || n != len(wire) {
				t.Fatalf("open: %d bytes, %v; want %d", n, err, len(wire))
			}
			if diff := cmp.Diff(v.header, h); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if string(control) != v.control || string(payload) != v.payload {
				t.Errorf("control %q, payload %q; want %q, %q", control, payload, v.control, v.payload)
			}
			got, err := Append([]byte("before"), &h, control, payload)
			if err != nil || string(got) != "before"+string(wire) {
				t.Errorf("append: %x (%v), want %x", got, err, wire)
			}
		})
	}
}

// Every field is read as it was written, at its largest, with control data and each padding (R343,
// R355, R359).
func TestRoundTrip(t *testing.T) {
	for _, typ := range []Type{Send, Write, ReadResponse} {
		for _, words := range []int{0, 1, 255} {
			for _, n := range []int{0, 1, 2, 3, 4, 1432, typ.MaxPayload() - words*4, MaxLength - typ.HeaderSize() - words*4} {
				h := Header{Type: typ, Res: 0xf, Begin: true, Order: 0x8001, ConnID: 1<<64 - 1, Number: 1<<32 - 1, Offset: 0xfffefdfc}
				if typ == Write {
					h.BufferID, h.RDMALength = 0x80000001, 0xfffffffe
				}
				control, payload := bytes.Repeat([]byte{0xc0}, words*4), bytes.Repeat([]byte{0xda}, n)
				b, err := Append(nil, &h, control, payload)
				if err != nil {
					t.Fatal(err)
				}
				if len(b)%4 != 0 || len(b) != h.Wire() || len(b) > MaxWire || h.Payload() != n {
					t.Fatalf("%v of %d+%d bytes: %d on the wire, Wire says %d", typ, len(control), n, len(b), h.Wire())
				}
				var got Header
				c, p, _, err := Open(b, &got)
				if err != nil || got != h || !bytes.Equal(c, control) || !bytes.Equal(p, payload) {
					t.Fatalf("%v of %d+%d bytes: %v, %+v; want %+v", typ, len(control), n, err, got, h)
				}
			}
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		control, payload int
		want             Rule
	}{
		"control data of half a word": {2, 0, ControlTooLong},
		"256 words of control data":   {1024, 0, ControlTooLong},
		"a byte too much":             {0, MaxLength - ShortHeader + 1, PayloadTooLong},
		"a byte too much, control":    {1020, MaxLength - ShortHeader - 1020 + 1, PayloadTooLong},
	} {
		b, err := Append([]byte("x"), &Header{}, make([]byte, tc.control), make([]byte, tc.payload))
		if !errors.Is(err, tc.want) || string(b) != "x" {
			t.Errorf("%s: %q, %v; want %v", name, b, err, tc.want)
		}
	}
}

// Every prefix of a segment is refused as Truncated.
func TestTruncatedSegmentIsRefused(t *testing.T) {
	for _, v := range vectors {
		wire := unhex(t, v.wire)
		for n := range wire {
			var h Header
			if _, _, _, err := Open(wire[:n:n], &h); !errors.Is(err, Truncated) {
				t.Errorf("%s: first %d of %d bytes: %v, want %v", v.name, n, len(wire), err, Truncated)
			}
		}
	}
}

// RFC 5042 §5.1: every flipped bit is detected. Bits of the fields that a decoder checks before
// the CRC may break another rule.
func TestEveryBit(t *testing.T) {
	for _, v := range vectors {
		wire := unhex(t, v.wire)
		for bit := range len(wire) * 8 {
			wire[bit/8] ^= 1 << (bit % 8)
			var h Header
			if _, _, _, err := Open(wire, &h); err == nil {
				t.Errorf("%s: bit %d of byte %d flipped, and not detected", v.name, bit%8, bit/8)
			} else if bit/8 >= 4 && bit/8 != 19 && !errors.Is(err, BadCRC) {
				t.Errorf("%s: bit %d of byte %d flipped: %v, want %v", v.name, bit%8, bit/8, err, BadCRC)
			}
			wire[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, wire string
		want       Error
	}{
		{"version 0", "00 0c 0018 | 0123456789abcdef | 00000010 | 0000 00 00 | 00000000", Error{Rule: BadVersion, Got: 0, Want: 1}},
		{"version 2", "02 0d 0020 | 0123456789abcdef | 00000010 | 0000 00 00 | 00000000 | 00000000 | 00000000", Error{BadVersion, Write, 2, 1}},
		{"length 0", "01 0c 0000 | 0123456789abcdef | 00000010 | 0000 00 00 | 00000000", Error{Rule: LengthBelowHeader, Got: 0, Want: 24}},
		{"length 23", "01 0f 0017 | 0123456789abcdef | 00000010 | 0000 00 00 | 00000000", Error{LengthBelowHeader, ReadResponse, 23, 24}},
		{"write of length 24", "01 0d 0018 | 0123456789abcdef | 00000010 | 0000 00 00 | 00000000", Error{LengthBelowHeader, Write, 24, 32}},
		{"read request of length 31", "01 0e 001f | 0123456789abcdef | 00000010 | 0000 00 00 | 00000000 | 00000000 | 00000000", Error{LengthBelowHeader, ReadRequest, 31, 32}},
		{"control data in no room", "01 0c 0018 | 0123456789abcdef | 00000010 | 0000 00 01 | 00000000", Error{Rule: ControlTooLong, Got: 4, Want: 0}},
		{"control data a byte too long", "01 0d 0027 | 0123456789abcdef | 00000010 | 0000 00 02 | 00000000 | 00000000 | 00000000", Error{ControlTooLong, Write, 8, 7}},
		{"read request with payload", "01 0e 0021 | 0123456789abcdef | 00000010 | 0000 00 00 | 00000000 | 00000000 | 00000000", Error{RequestWithPayload, ReadRequest, 1, 0}},
		{"read request without B", "01 06 0020 | 0123456789abcdef | 00000010 | 0000 00 00 | 00000000 | 00000000 | 00000000", Error{RequestNotWhole, ReadRequest, 4, 12}},
		{"read request without E", "01 0a 0020 | 0123456789abcdef | 00000010 | 0000 00 00 | 00000000 | 00000000 | 00000000", Error{RequestNotWhole, ReadRequest, 8, 12}},
	} {
		var h Header
		err := h.Decode(unhex(t, tc.wire))
		got := new(Error)
		if !errors.As(err, &got) || *got != tc.want || !errors.Is(err, tc.want.Rule) {
			t.Errorf("%s: %v, want %v", tc.name, err, &tc.want)
		}
	}
}

// Unusual segments that must be accepted.
func TestDecodeAccepts(t *testing.T) {
	for name, tc := range map[string]struct {
		wire string
		ok   func(h *Header) bool
	}{
		"reserved 8 bits":             {"01 0c 0018 | 0123456789abcdef | 00000010 | 0000 ff 00 | 00000000", func(h *Header) bool { return h.Payload() == 0 }},
		"reserved 4 bits":             {"01 fc 0018 | 0123456789abcdef | 00000010 | 0000 00 00 | 00000000", func(h *Header) bool { return h.Res == 0xf && h.Begin && h.End }},
		"neither B nor E":             {"01 00 0019 | 0123456789abcdef | 00000010 | 0000 00 00 | 00000001", func(h *Header) bool { return h.Payload() == 1 && h.Padding() == 3 && h.Wire() == 32 }},
		"longest":                     {"01 0c ffff | 0123456789abcdef | 00000010 | 0000 00 00 | 00000000", func(h *Header) bool { return h.Payload() == 65511 && h.Wire() == MaxWire }},
		"read request, control only":  {"01 0e 0024 | 0123456789abcdef | 00000010 | 0000 00 01 | 00000000 | 00000000 | ffffffff", func(h *Header) bool { return h.Control() == 4 && h.RDMALength == 1<<32-1 }},
		"control data fills a Send":   {"01 0c 0414 | 0123456789abcdef | 00000010 | 0000 00 ff | 00000000", func(h *Header) bool { return h.Control() == MaxControl && h.Payload() == 0 }},
		"bytes of the next behind it": {"01 0c 0018 | 0123456789abcdef | 00000010 | 0000 00 00 | 00000000 | ff", func(h *Header) bool { return true }},
	} {
		var h Header
		if err := h.Decode(unhex(t, tc.wire)); err != nil || !tc.ok(&h) {
			t.Errorf("%s: %v, %+v", name, err, h)
		}
	}
}

func TestErrorText(t *testing.T) {
	for rule := BadVersion; rule <= BadCRC; rule++ {
		if text := rule.Error(); !strings.Contains(text, "draft-williams-rdmatcp-00 §") || strings.HasPrefix(rule.String(), "Rule(") {
			t.Errorf("rule %d: %q, %q", rule, rule.String(), text)
		}
	}
	if got := (BadCRC + 1).Error(); got != "Rule(23)" {
		t.Errorf("unknown rule: %q", got)
	}
	const want = "segment: RDMA_Write: found 0x18, want 0x20: Segment Length includes the header (draft-williams-rdmatcp-00 §3.4 Segment Length)"
	if got := (&Error{LengthBelowHeader, Write, 24, 32}).Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	const version = "segment: found 0x48, want 0x1: Version must be 1 (draft-williams-rdmatcp-00 §3.4 Version)"
	if got := (&Error{BadVersion, Send, 'H', 1}).Error(); got != version {
		t.Errorf("%q, want %q", got, version)
	}
	if got := Type(4).String(); got != "Type(4)" {
		t.Errorf("%q", got)
	}
}

func TestCodecAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, MaxWire)
	payload := make([]byte, 1000)
	var s Stream
	n := testing.AllocsPerRun(100, func() {
		h := Header{Type: Send, Begin: true, End: true, Number: s.Next()}
		b, err := Append(buf, &h, payload[:8], payload)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := Open(b, &h); err != nil {
			t.Fatal(err)
		}
		if err := s.Accept(&h, nil); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// FuzzOpen reads arbitrary input without a panic. Append returns the same bytes for an accepted
// segment, except for those that a receiver ignores.
func FuzzOpen(f *testing.F) {
	for _, v := range vectors {
		b := unhex(f, v.wire)
		f.Add(b)
		for clen := range byte(8) { // more control data than there is, too
			if changed := bytes.Clone(b); len(b) > 19 {
				changed[19] = clen
				f.Add(changed)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		open(t, b)
		if len(b) < 4 {
			return
		}
		// A fuzzer finds no CRC.
		if end := ((int(b[2])<<8 | int(b[3])) + 3) &^ 3; end > 0 && end+TrailerSize <= len(b) {
			b = bytes.Clone(b)
			crc.Put(b[end:], crc.Checksum(b[:end]))
			open(t, b)
		}
	})
}

// open checks that a segment is refused with an Error, or is the encoding of its parts.
func open(t *testing.T, b []byte) {
	var h Header
	control, payload, n, err := Open(b, &h)
	if err != nil {
		if e := new(Error); !errors.As(err, &e) {
			t.Fatalf("%T: %v", err, err)
		}
		return
	}
	if len(control) != h.Control() || len(payload) != h.Payload() || n != h.Wire() {
		t.Fatalf("%d bytes of control data, %d of payload, %d in all of %+v", len(control), len(payload), n, h)
	}
	again := h
	out, err := Append(nil, &again, control, payload)
	if err != nil || again != h || len(out) != n {
		t.Fatalf("%v: %+v, want %+v", err, again, h)
	}
}
