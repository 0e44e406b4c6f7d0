package v2_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// R228: each property that the draft or an extension knows may be in a set once, wherever it is and
// whatever comes between. Others may come more often (R222).
func TestPropertyTwice(t *testing.T) {
	known := func(id uint32, _ []byte) (bool, error) { return id == 77 || id == 79, nil }
	set := []header.Property{
		prop(t, 1, "00002000"), prop(t, 2, "00002000"), prop(t, 3, "00002000"), prop(t, 4, "00000004"), prop(t, 5, "00000001"),
		prop(t, 6, "00000000"), prop(t, 77, "01"), prop(t, 79, "02"), prop(t, 78, "03"), prop(t, 80, "04"), prop(t, 0, ""), prop(t, 7, ""),
	}
	for _, again := range set {
		_, f := v2.New(v2.Config{KnownProperty: known}).Learn(append(slices.Clone(set), again))
		free := slices.Contains([]uint32{78, 80, 0, 7}, again.ID)
		if free != (f == nil) || f != nil && (f.Code != header.FaultTwice || f.Found != uint64(again.ID) || f.Want != 2) {
			t.Errorf("property %d twice: fault %+v", again.ID, f)
		}
	}
	// An extension whose property is known only with some values.
	odd := func(_ uint32, data []byte) (bool, error) { return len(data) > 0 && data[0] == 1, nil }
	if _, f := v2.New(v2.Config{KnownProperty: odd}).Learn([]header.Property{prop(t, 77, "01"), prop(t, 77, "02")}); f != nil {
		t.Errorf("a property of no extension after one of an extension: %v", f)
	}
}

// Config.Extra follows the properties of this end, once. The Receives posted first are advertised.
// They do not limit the messages that this end can receive later.
func TestExtraAndPosted(t *testing.T) {
	extra := []header.Property{prop(t, 77, "0102"), prop(t, 78, "")}
	v := v2.New(v2.Config{Own: own, Posted: 5000, Extra: extra})
	for range 2 {
		set := v.Properties()
		if len(set) != 7 {
			t.Fatalf("%d properties, want 7", len(set))
		}
		if diff := cmp.Diff([]header.Property{prop(t, 2, "00001388")}, set[1:2]); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(extra, set[5:]); diff != "" {
			t.Error(diff)
		}
	}
	if _, f := v.Learn([]header.Property{prop(t, 1, "00100000")}); f != nil {
		t.Fatal(f)
	}
	if got := v.Terms(true).Recv; got != 16384 {
		t.Errorf("receives %d bytes, want 16384", got)
	}
}

// Numbers that do not fit an int of 32 bits are reduced, in the properties of this end, too.
func TestLargestOwn(t *testing.T) {
	const most = math.MaxUint32
	v := v2.New(v2.Config{Own: v2.Properties{MaxSend: most, ReceiveSize: most, SegmentSize: most, Segments: most, Reverse: most}})
	for i, p := range v.Properties() {
		want := prop(t, uint32(i+1), "7fffffff")
		if i == 4 {
			want = prop(t, 5, "00000002")
		}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Error(diff)
		}
	}
}

// The length that a value cut after its own length should have (T102).
func TestHostAuthCutBehindItsLength(t *testing.T) {
	_, f := newVersion(true).Learn([]header.Property{prop(t, 6, "00000005")})
	if f == nil || f.Code != header.FaultProperty || f.Found != 4 || f.Want != 12 {
		t.Errorf("fault %+v, want 4 bytes of 12", f)
	}
}

// Each segment of each chunk stays where it is.
func TestDecodeChunks(t *testing.T) {
	seg := func(n uint32) header.Segment { return header.Segment{Handle: n, Length: n + 1, Offset: uint64(n) + 2} }
	m := message(header.KindMsg)
	m.Lists = header.Lists{
		Reads:  []header.ReadSegment{{Position: 4, Segment: seg(10)}, {Position: 8, Segment: seg(20)}},
		Writes: [][]header.Segment{{seg(30), seg(40)}, {}, {seg(50)}},
		Reply:  []header.Segment{seg(60), seg(70)}, HasReply: true,
	}
	for range 2 { // the memory of the first is used again
		v := newVersion(false)
		b, err := v.Append(make([]byte, 0, 1024), &m)
		if err != nil {
			t.Fatal(err)
		}
		var got header.Message
		if f := v.Decode(b, &got); f != nil {
			t.Fatal(f)
		}
		if diff := cmp.Diff(m.Lists.Reads, got.Lists.Reads); diff != "" {
			t.Error(diff)
		}
		for i := range m.Lists.Writes {
			if !slices.Equal(m.Lists.Writes[i], got.Lists.Writes[i]) {
				t.Errorf("write chunk %d is %v, want %v", i, got.Lists.Writes[i], m.Lists.Writes[i])
			}
		}
		if !got.Lists.HasReply || !slices.Equal(got.Lists.Reply, m.Lists.Reply) {
			t.Errorf("reply chunk %v", got.Lists.Reply)
		}
	}
}

// After a fault a message has no properties. The fault for bytes after a header says how many there
// are.
func TestBytesBehindASet(t *testing.T) {
	b := unhex(t, prefix+"00000005 00000000 00000001 0000004d 00000001 01000000 aabbccddee")
	var m header.Message
	f := newVersion(true).Decode(b, &m)
	if f == nil || f.Code != header.FaultTrailing || f.Found != 5 || len(m.Props) != 0 {
		t.Errorf("fault %+v, %d properties", f, len(m.Props))
	}
}

// A body that its extension cannot decode is a fault of the message, at the place that it names.
func TestInvalidBody(t *testing.T) {
	bad := errors.New("bad")
	v := v2.New(v2.Config{
		Types: func(htype uint32) (uint32, bool) { return 0, htype == 32 },
		Body: func(_ uint32, b []byte) (any, []byte, error) {
			if b[0] == 1 {
				return "body", b[4:], nil
			}
			return nil, nil, bad
		},
	})
	for i, want := range []error{nil, bad} {
		var m header.Message
		f := v.Decode(unhex(t, prefix+"00000020 00000000 "+[]string{"01000000", "02000000"}[i]+" cafe"), &m)
		if want == nil && (f != nil || m.Body != "body" || !bytes.Equal(m.Payload, []byte{0xca, 0xfe})) {
			t.Errorf("fault %v, body %v, payload % x", f, m.Body, m.Payload)
		}
		if want != nil && (f == nil || f.Code != header.FaultXDR || !errors.Is(f, bad) || m.Body != nil || len(m.Payload) != 0) {
			t.Errorf("fault %+v, body %v", f, m.Body)
		}
	}
}

// R174: a grant has the XID 0 on the wire, whatever the message has.
func TestGrantHasNoXID(t *testing.T) {
	m := message(header.KindGrant)
	m.XID = 0xcafe0001
	b, err := newVersion(true).Append(make([]byte, 0, 64), &m)
	if err != nil || !bytes.HasPrefix(b, make([]byte, 4)) {
		t.Errorf("% x, %v", b, err)
	}
}

// The counts of an account are those of its credits, each in its place.
func TestAccountCounts(t *testing.T) {
	a := newAccount(true)
	a.Sent(protocol.ClassCall, 0)
	get := func(kind header.Kind, word uint32) {
		t.Helper()
		if f := a.Received(&header.Message{Kind: kind, Credit: word}, nil, protocol.Other); f != nil {
			t.Fatal(f)
		}
		a.Posted(1)
	}
	get(header.KindMsg, 0x00040000) // the first grant, of 0
	get(header.KindMsg, 0x00040009)
	get(header.KindMsg, 0x00040009)
	a.Sent(protocol.ClassOther, 0)
	want := protocol.Counts{Calls: 1, Granted: 4, Free: 3, Given: 5, ZeroGrants: 1, OverGrants: 2}
	if diff := cmp.Diff(want, a.Counts()); diff != "" {
		t.Error(diff)
	}
	// The fault of a message beyond the credits says how many were granted in all.
	a.Posted(9)
	for range 5 {
		get(header.KindMsg, 0x00040000)
	}
	f := a.Received(&header.Message{Credit: 0x00040000}, nil, protocol.Other)
	if f == nil || f.Code != header.FaultCredit || f.Found != 8 {
		t.Errorf("fault %+v, want 8 credits granted", f)
	}
}
