package ddp_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	. "github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// unhex reads hexadecimal bytes in groups.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Headers filled in by hand from RFC 5041 Figures 4 and 5. RFC 5044 Figure 5 has the first.
var vectors = []struct {
	name, wire string
	header     Header
}{
	{"send", "41 43 00000000 00000000 00000001 00000000", Header{Last: true, ULP: 0x43, MSN: 1}},
	{"send with invalidate, not last", "01 44 cafe0001 00000000 00000002 0000059a", Header{ULP: 0x44, ULP2: 0xcafe0001, MSN: 2, MO: 0x59a}},
	{"read request", "41 41 00000000 00000001 ffffffff 00000000", Header{Last: true, ULP: 0x41, QN: 1, MSN: math.MaxUint32}},
	{"terminate", "41 47 00000000 00000002 00000001 00000000", Header{Last: true, ULP: 0x47, QN: 2, MSN: 1}},
	{"write", "c1 40 deadbeef 0000000100000000", Header{Tagged: true, Last: true, ULP: 0x40, STag: 0xdeadbeef, TO: 1 << 32}},
	{"read response, not last", "81 42 00000001 fffffffffffffffe", Header{Tagged: true, ULP: 0x42, STag: 1, TO: math.MaxUint64 - 1}},
}

func TestHeadersAreReadBack(t *testing.T) {
	for _, v := range vectors {
		wire := unhex(t, v.wire)
		var h Header
		if err := h.Decode(append(wire, "payload"...)); err != nil || !cmp.Equal(h, v.header) {
			t.Errorf("%s: %v (-want +got):\n%s", v.name, err, cmp.Diff(v.header, h))
		}
		got := make([]byte, UntaggedSize)
		if n := v.header.Put(got); n != len(wire) || n != v.header.Size() || !bytes.Equal(got[:n], wire) {
			t.Errorf("%s: put %x, want %x", v.name, got[:n], wire)
		}
		for n := range wire {
			if err := h.Decode(wire[:n:n]); !errors.Is(err, Truncated) {
				t.Errorf("%s: first %d bytes: %v, want %v", v.name, n, err, Truncated)
			}
		}
		wire[0] |= 0x3c // the reserved bits
		if err := h.Decode(wire); err != nil || !cmp.Equal(h, v.header) {
			t.Errorf("%s with reserved bits: %v, %+v", v.name, err, h)
		}
		for _, version := range []byte{0, 2, 3} {
			wire[0] = wire[0]&^3 | version
			err := h.Decode(wire)
			e := new(Error)
			if !errors.As(err, &e) || e.Rule != BadVersion || e.Got != uint64(version) {
				t.Fatalf("%s, version %d: %v", v.name, version, err)
			}
			wantType, wantCode := uint8(TypeUntagged), uint8(6)
			if v.header.Tagged {
				wantType, wantCode = TypeTagged, 4
			}
			if etype, code := e.Code(); etype != wantType || code != wantCode {
				t.Errorf("%s, version %d: error type %d, code %d", v.name, version, etype, code)
			}
		}
	}
}

// The segments of RFC 5041 §5.2: a message of 2048 bytes with MULPDU 1500.
func TestExampleOfRFC(t *testing.T) {
	if 1500-UntaggedSize != 1482 || 1500-TaggedSize != 1486 {
		t.Fatal("header sizes")
	}
	var q Queue
	for _, s := range []struct{ mo, n uint32 }{{0, 1482}, {1482, 566}} {
		if err := q.Accept(&Header{MSN: 1, MO: s.mo, Last: s.mo > 0}, int(s.n)); err != nil {
			t.Error(err)
		}
	}
	var g Tagged
	for _, s := range []struct{ to, n uint64 }{{16384, 1486}, {17870, 562}} {
		if err := g.Accept(&Header{Tagged: true, TO: s.to, Last: s.to > 16384}, int(s.n)); err != nil {
			t.Error(err)
		}
	}
}

type segment struct {
	Header
	n int
}

func un(msn, mo uint32, n int, last bool, more ...func(*Header)) segment {
	h := Header{MSN: msn, MO: mo, Last: last, ULP: 0x43}
	for _, m := range more {
		m(&h)
	}
	return segment{h, n}
}

func tag(stag uint32, to uint64, n int, last bool, more ...func(*Header)) segment {
	h := Header{Tagged: true, STag: stag, TO: to, Last: last, ULP: 0x40}
	for _, m := range more {
		m(&h)
	}
	return segment{h, n}
}

const (
	top  = math.MaxUint64
	half = math.MaxInt32 // of the longest message
)

func TestQueueTakesSegmentsInOrder(t *testing.T) {
	other := func(h *Header) { h.ULP = 0x44 }
	for _, tc := range []struct {
		name string
		segs []segment
		want Rule // of the last one; 0: all are right
		code uint8
	}{
		{name: "messages", segs: []segment{un(1, 0, 5, true), un(2, 0, 0, true), un(3, 0, 9, true)}},
		{name: "three segments", segs: []segment{un(1, 0, 5, false), un(1, 5, 3, false), un(1, 8, 1, true), un(2, 0, 1, true)}},
		{name: "empty last segment", segs: []segment{un(1, 0, 5, false), un(1, 5, 0, true)}},
		{name: "starts at 0", segs: []segment{un(0, 0, 5, true)}, want: NumberNotNext, code: 3},
		{name: "starts at 2", segs: []segment{un(2, 0, 5, true)}, want: NumberNotNext, code: 3},
		{name: "number repeated", segs: []segment{un(1, 0, 5, true), un(1, 0, 5, true)}, want: NumberNotNext, code: 3},
		{name: "next one inside", segs: []segment{un(1, 0, 5, false), un(2, 0, 5, true)}, want: NumberNotNext, code: 3},
		{name: "offset not 0", segs: []segment{un(1, 1, 5, true)}, want: OffsetNotNext, code: 4},
		{name: "offset ahead", segs: []segment{un(1, 0, 5, false), un(1, 6, 5, true)}, want: OffsetNotNext, code: 4},
		{name: "offset back", segs: []segment{un(1, 0, 5, false), un(1, 4, 5, true)}, want: OffsetNotNext, code: 4},
		{name: "started again", segs: []segment{un(1, 0, 5, false), un(1, 0, 5, true)}, want: OffsetNotNext, code: 4},
		{name: "ULP changes", segs: []segment{un(1, 0, 5, false), un(1, 5, 5, true, other)}, want: ULPChanged, code: 3},
		{name: "STag changes", segs: []segment{un(1, 0, 5, false), un(1, 5, 5, true, func(h *Header) { h.ULP2 = 9 })}, want: ULPChanged, code: 3},
		{name: "longest", segs: []segment{un(1, 0, half, false), un(1, half, half, false), un(1, 2*half, 1, true), un(2, 0, 1, true)}},
		{name: "too long", segs: []segment{un(1, 0, half, false), un(1, half, half, false), un(1, 2*half, 2, true)}, want: MessageTooLong, code: 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var q Queue
			for i, s := range tc.segs {
				if q.Begins() == q.Open() {
					t.Error("Begins and Open agree")
				}
				err := q.Accept(&s.Header, s.n)
				check(t, i == len(tc.segs)-1, err, tc.want, TypeUntagged, tc.code)
				if err == nil && (q.Open() == s.Last || s.Last != (q.MSN() != s.MSN)) {
					t.Errorf("segment %d: open %v, next %d", i, q.Open(), q.MSN())
				}
			}
		})
	}
}

// check checks the result of a segment.
func check(t *testing.T, last bool, err error, want Rule, etype, code uint8) {
	t.Helper()
	if !last || want == 0 {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	e := new(Error)
	if !errors.As(err, &e) || !errors.Is(err, want) {
		t.Fatalf("last segment: %v, want %v", err, want)
	}
	if gotType, gotCode := e.Code(); gotType != etype || gotCode != code {
		t.Errorf("error type %d, code %d; want %d, %d", gotType, gotCode, etype, code)
	}
}

func TestTaggedSegmentsFollowEachOther(t *testing.T) {
	other := func(h *Header) { h.ULP = 0x42 }
	for _, tc := range []struct {
		name string
		segs []segment
		want Rule
		code uint8
	}{
		{name: "messages", segs: []segment{tag(1, 9, 5, true), tag(2, 3, 5, true), tag(0, 7, 0, true)}},
		{name: "three segments", segs: []segment{tag(1, 9, 5, false), tag(1, 14, 5, false), tag(1, 19, 1, true)}},
		{name: "empty last segment", segs: []segment{tag(1, 9, 5, false), tag(0, 0, 0, true), tag(3, 0, 1, true)}},
		{name: "to the last byte", segs: []segment{tag(1, top-9, 10, true), tag(1, top-9, 4, false), tag(1, top-5, 6, false), tag(1, 0, 0, true)}},
		{name: "STag changes", segs: []segment{tag(1, 9, 5, false), tag(2, 14, 5, true)}, want: STagChanged, code: 0},
		{name: "ahead", segs: []segment{tag(1, 9, 5, false), tag(1, 15, 5, true)}, want: TONotNext, code: 1},
		{name: "back", segs: []segment{tag(1, 9, 5, false), tag(1, 13, 5, true)}, want: TONotNext, code: 1},
		{name: "empty one ahead", segs: []segment{tag(1, 9, 5, false), tag(1, 15, 0, false)}, want: TONotNext, code: 1},
		{name: "operation changes", segs: []segment{tag(1, 9, 5, false), tag(1, 14, 5, true, other)}, want: TaggedULPChanged, code: 1},
		{name: "wraps", segs: []segment{tag(1, top, 2, true)}, want: TOWraps, code: 3},
		{name: "wraps later", segs: []segment{tag(1, top-4, 5, false), tag(1, 0, 5, true)}, want: TOWraps, code: 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var g Tagged
			base := uint64(0)
			for i, s := range tc.segs {
				if g.Begins() {
					base = s.TO
				}
				err := g.Accept(&s.Header, s.n)
				check(t, i == len(tc.segs)-1, err, tc.want, TypeTagged, tc.code)
				if err == nil && (g.Open() == s.Last || g.Base() != base) {
					t.Errorf("segment %d: open %v, base %d", i, g.Open(), g.Base())
				}
			}
		})
	}
}

func TestMessagesAreNumberedFromOne(t *testing.T) {
	s, q := Sequence{}, Queue{}
	for want := uint32(1); want < 4; want++ {
		if n := s.Next(); n != want || q.MSN() != want || q.Accept(&Header{MSN: n, Last: true}, 1) != nil {
			t.Errorf("message %d has number %d", want, n)
		}
	}
}

// RFC 5041 §4.3 MSN: it wraps to 0.
func TestSequenceWraps(t *testing.T) {
	s, q := SequenceAt(math.MaxUint32), QueueAt(math.MaxUint32)
	for _, want := range []uint32{math.MaxUint32, 0, 1} {
		if n := s.Next(); n != want || q.Accept(&Header{MSN: n, Last: true}, 1) != nil {
			t.Errorf("number %#x, want %#x", n, want)
		}
	}
}

func TestErrorText(t *testing.T) {
	for rule := Truncated; rule <= NotAssociated; rule++ {
		if text := rule.Error(); !strings.Contains(text, "RFC 5041 §") || strings.HasPrefix(rule.String(), "Rule(") {
			t.Errorf("rule %d: %q, %q", rule, rule.String(), text)
		}
	}
	unknown := NotAssociated + 1
	if etype, code := unknown.Code(true); unknown.Error() != "Rule(16)" || etype != TypeLocal || code != 0 {
		t.Errorf("unknown rule: %q, %d, %d", unknown.Error(), etype, code)
	}
	const want = "ddp: tagged segment: found 0x5, want 0x4: a tagged offset grows by the payload of the segments before (RFC 5041 §5.2)"
	if got := (&Error{TONotNext, true, 5, 4}).Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCodecAllocatesNothing(t *testing.T) {
	var s Sequence
	var q Queue
	var g Tagged
	buf := make([]byte, UntaggedSize)
	n := testing.AllocsPerRun(100, func() {
		for _, h := range []Header{{Last: true, MSN: s.Next()}, {Tagged: true, Last: true, STag: 1}} {
			h.Put(buf)
			var got Header
			if err := got.Decode(buf); err != nil {
				t.Fatal(err)
			}
			var err error
			if got.Tagged {
				err = g.Accept(&got, 100)
			} else {
				err = q.Accept(&got, 100)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// FuzzHeaders reads segments from arbitrary input without a panic. Put returns the same bytes
// for an accepted header, but for the reserved bits, and no accepted message has a gap.
func FuzzHeaders(f *testing.F) {
	for _, v := range vectors {
		f.Add(unhex(f, v.wire), uint16(len(v.wire)))
	}
	f.Fuzz(func(t *testing.T, b []byte, n uint16) {
		var queues [3]Queue
		var g Tagged
		for len(b) > 0 {
			var h Header
			if err := h.Decode(b); err != nil {
				if e := new(Error); !errors.As(err, &e) {
					t.Fatalf("%T: %v", err, err)
				}
				return
			}
			again := make([]byte, UntaggedSize)
			if size := h.Put(again); again[0] != b[0]&^0x3c || !bytes.Equal(again[1:size], b[1:size]) {
				t.Fatalf("%x, want %x", again[:size], b[:size])
			}
			b = b[h.Size():]
			switch {
			case h.Tagged:
				if g.Accept(&h, int(n)) != nil {
					return
				}
				if n > 0 && h.TO < g.Base() {
					t.Fatalf("offset %#x before %#x", h.TO, g.Base())
				}
			case h.QN < 3:
				if queues[h.QN].Accept(&h, int(n)) != nil {
					return
				}
			}
		}
	})
}
