package v2_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// own are the properties of the end that the tests look at. Every value differs from the default.
var own = v2.Properties{MaxSend: 8192, ReceiveSize: 16384, SegmentSize: 65536, Segments: 8, Reverse: v2.ReverseGeneral}

// defaults are the terms of that end with a peer that sent no properties.
var defaults = header.Terms{
	Send: 4096, Recv: 4096, RemoteInvalidate: true, CallNamesKey: true, SegmentSize: 1048576, Segments: 16, Reverse: header.ReverseInline,
}

// prop returns a property whose data are written in hexadecimal.
func prop(t *testing.T, id uint32, data string) header.Property {
	return header.Property{ID: id, Data: unhex(t, data)}
}

// checkTerms checks the limits of any terms, at an end with these properties (R229).
func checkTerms(t *testing.T, got header.Terms, own v2.Properties) {
	t.Helper()
	if got.Send < 4096 || got.Send > int(own.MaxSend) || got.Recv < 4096 || got.Recv > int(own.ReceiveSize) ||
		got.SegmentSize < 1 || got.Segments < 1 || got.Reverse > header.ReverseNone {
		t.Errorf("terms %+v at an end with %+v", got, own)
	}
}

// R214 to R218, R225: this end sends all five numbers, in a message that every peer can receive and
// whose size is not the 28 bytes of an ERR_VERS of version 1 (A1). The bytes were written by hand:
// five properties, each with its number, the length 4, and the value.
func TestAllPropertiesAreSent(t *testing.T) {
	const want = prefix + "00000005 00000000 00000005 " +
		"00000001 00000004 00002000 " + "00000002 00000004 00004000 " + "00000003 00000004 00010000 " +
		"00000004 00000004 00000008 " + "00000005 00000004 00000002"
	v := v2.New(v2.Config{Own: own, Invalidate: true})
	for range 2 {
		m := message(header.KindProps)
		m.Props = v.Properties()
		got, err := v.Append(make([]byte, 0, 1024), &m)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(hex.EncodeToString(unhex(t, want)), hex.EncodeToString(got)); diff != "" {
			t.Error(diff)
		}
	}
}

// R229, T104: an end never advertises less than the minimum, whatever it was configured with.
func TestOwnBounded(t *testing.T) {
	for _, c := range []struct{ own, want v2.Properties }{
		{v2.Properties{}, v2.Properties{MaxSend: 4096, ReceiveSize: 4096, SegmentSize: 1048576, Segments: 16}},
		{
			v2.Properties{MaxSend: 1024, ReceiveSize: 4095, SegmentSize: 1, Segments: 1, Reverse: 3},
			v2.Properties{MaxSend: 4096, ReceiveSize: 4096, SegmentSize: 1, Segments: 1, Reverse: 2},
		},
		{v2.DefaultProperties(), v2.Properties{MaxSend: 4096, ReceiveSize: 4096, SegmentSize: 1048576, Segments: 16, Reverse: 1}},
	} {
		var want []byte
		for _, n := range []uint32{c.want.MaxSend, c.want.ReceiveSize, c.want.SegmentSize, c.want.Segments, c.want.Reverse} {
			want = append(want, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
		}
		var got []byte
		for _, p := range v2.New(v2.Config{Own: c.own}).Properties() {
			got = append(got, p.Data...)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%+v: % x, want % x", c.own, got, want)
		}
	}
}

// R41, R42, R43, R190, R226, A6, T100: without properties of the peer, both ends send up to 4096
// bytes, but the end that dialed no more than 1024 until it has received a message.
func TestTermsWithoutPropertiesAreTheDefaults(t *testing.T) {
	for _, c := range []struct {
		dialed, heard bool
		send          int
		reverse       header.Reverse
	}{
		{true, false, 1024, header.ReverseGeneral},
		{true, true, 4096, header.ReverseGeneral},
		{false, false, 4096, header.ReverseInline},
		{false, true, 4096, header.ReverseInline},
	} {
		want := defaults
		want.Send, want.Reverse = c.send, c.reverse
		if diff := cmp.Diff(want, v2.New(v2.Config{Dialed: c.dialed, Own: own, Invalidate: true}).Terms(c.heard)); diff != "" {
			t.Errorf("dialed %v, heard %v: %s", c.dialed, c.heard, diff)
		}
	}
}

// The terms after a set of the peer: R214 to R218, R221 to R224, R229, T102, T104.
func TestTermsFollowThePeersProperties(t *testing.T) {
	known := func(id uint32, data []byte) (bool, error) {
		if id == 77 && len(data) > 0 && string(data) != "good" {
			return true, errors.New("not good")
		}
		return id == 77, nil
	}
	for _, c := range []struct {
		name string
		set  []header.Property
		want func(*header.Terms)
	}{
		{"R224: nothing", nil, func(*header.Terms) {}},
		{"R215: a receive size below our longest Send", []header.Property{prop(t, 2, "00001800")}, func(w *header.Terms) { w.Send = 6144 }},
		{"R214: a receive size above it", []header.Property{prop(t, 2, "00100000")}, func(w *header.Terms) { w.Send = 8192 }},
		{"a send size below our Receives", []header.Property{prop(t, 1, "00001400")}, func(w *header.Terms) { w.Recv = 5120 }},
		{"a send size above them", []header.Property{prop(t, 1, "00100000")}, func(w *header.Terms) { w.Recv = 16384 }},
		{"R216: segment size", []header.Property{prop(t, 3, "00008000")}, func(w *header.Terms) { w.SegmentSize = 32768 }},
		{"R217: segment count", []header.Property{prop(t, 4, "00000003")}, func(w *header.Terms) { w.Segments = 3 }},
		{"R218: no reverse Calls", []header.Property{prop(t, 5, "00000000")}, func(w *header.Terms) { w.Reverse = header.ReverseNone }},
		{"R218: inline", []header.Property{prop(t, 5, "00000001")}, func(w *header.Terms) { w.Reverse = header.ReverseInline }},
		{"R218: general", []header.Property{prop(t, 5, "00000002")}, func(w *header.Terms) { w.Reverse = header.ReverseGeneral }},
		{"R221: data of zero length", []header.Property{{ID: 1}, {ID: 2}, {ID: 3}, {ID: 4}, {ID: 5}, {ID: 77}}, func(*header.Terms) {}},
		{"R222: unknown properties, one of them twice", []header.Property{
			prop(t, 0, "01"), prop(t, 99, "00"), prop(t, 2, "00001800"), prop(t, 99, ""), prop(t, 0xffffffff, "00000001"),
		}, func(w *header.Terms) { w.Send = 6144 }},
		{"a property of an extension", []header.Property{{ID: 77, Data: []byte("good")}}, func(*header.Terms) {}},
		{"the default of a property of an extension", []header.Property{{ID: 77}}, func(*header.Terms) {}},
		{"T104: sizes of 0", []header.Property{prop(t, 1, "00000000"), prop(t, 2, "00000000")}, func(*header.Terms) {}},
		{"T104: sizes of 1", []header.Property{prop(t, 1, "00000001"), prop(t, 2, "00000001")}, func(*header.Terms) {}},
		{"T104: sizes of 4095", []header.Property{prop(t, 1, "00000fff"), prop(t, 2, "00000fff")}, func(*header.Terms) {}},
		{"T104: segment size and count of 0", []header.Property{prop(t, 3, "00000000"), prop(t, 4, "00000000")}, func(*header.Terms) {}},
		{
			"T104: all 2^32-1",
			[]header.Property{prop(t, 1, "ffffffff"), prop(t, 2, "ffffffff"), prop(t, 3, "ffffffff"), prop(t, 4, "ffffffff")},
			func(w *header.Terms) {
				w.Send, w.Recv, w.SegmentSize, w.Segments = 8192, 16384, math.MaxInt32, math.MaxInt32
			},
		},
	} {
		set := c.set
		for range 2 { // R223: in reverse order, too
			want := defaults
			c.want(&want)
			v := v2.New(v2.Config{Own: own, Invalidate: true, KnownProperty: known})
			got, f := v.Learn(set)
			if f != nil {
				t.Fatalf("%s: %v", c.name, f)
			}
			if diff := cmp.Diff(want, v.Terms(true)); diff != "" || got.HasAuth {
				t.Errorf("%s: %v %s", c.name, got.HasAuth, diff)
			}
			checkTerms(t, v.Terms(true), own)
			set = slices.Clone(set)
			slices.Reverse(set)
		}
	}
}

// Both ends of a connection compute the same terms from the properties that they send.
func TestBothEnds(t *testing.T) {
	client := v2.New(v2.Config{Dialed: true, Own: own, Invalidate: true})
	server := v2.New(v2.Config{Own: v2.Properties{MaxSend: 65536, ReceiveSize: 6000, Reverse: v2.ReverseNone}})
	_, f1 := client.Learn(server.Properties())
	_, f2 := server.Learn(client.Properties())
	if f1 != nil || f2 != nil {
		t.Fatal(f1, f2)
	}
	c, s := client.Terms(true), server.Terms(true)
	if c.Send != 6000 || s.Recv != 6000 || c.Recv != 16384 || s.Send != 16384 {
		t.Errorf("sizes %+v and %+v", c, s)
	}
	if c.Reverse != header.ReverseGeneral || s.Reverse != header.ReverseGeneral {
		t.Errorf("reverse Calls: %d and %d", c.Reverse, s.Reverse)
	}
}

// R197, R228, A14, A33, T102, T103: one bad property between two good ones, and nothing of the set
// is applied. A good set has its effect after it.
func TestLearnRefuses(t *testing.T) {
	bad := errors.New("bad")
	for _, c := range []struct {
		name        string
		p           header.Property
		code        header.Code
		found, want uint64
	}{
		{"T102: twice", prop(t, 1, "00002000"), header.FaultTwice, 1, 2},
		{"T102: twice, once as the default", prop(t, 1, ""), header.FaultTwice, 1, 2},
		{"T102: send size of three bytes", prop(t, 3, "000020"), header.FaultProperty, 3, 4},
		{"T102: receive size of one byte", prop(t, 4, "01"), header.FaultProperty, 1, 4},
		{"T102: segment size of five bytes", prop(t, 3, "0000000001"), header.FaultProperty, 5, 4},
		{"T102: segment count of eight bytes", prop(t, 4, "0000000000000001"), header.FaultProperty, 8, 4},
		{"R218: a level that is not known", prop(t, 5, "00000003"), header.FaultProperty, 4, 4},
		{"R219: host authentication of no bytes", prop(t, 6, ""), header.FaultProperty, 0, 4},
		{"R219: cut in its length", prop(t, 6, "0000"), header.FaultProperty, 2, 4},
		{"R219: cut in its value", prop(t, 6, "00000005 01020304"), header.FaultProperty, 8, 12},
		{"R219: with bytes after its value", prop(t, 6, "00000001 01000000 00000000"), header.FaultProperty, 12, 8},
		{"R219: padded with other bytes than zeros", prop(t, 6, "00000001 01000001"), header.FaultProperty, 8, 8},
		{"T106: 1 GiB of host authentication", prop(t, 6, "40000000 01020304"), header.FaultProperty, 8, 0x40000004},
		{"a property of an extension", prop(t, 77, "01"), header.FaultProperty, 1, 1},
	} {
		v := v2.New(v2.Config{Own: own, Invalidate: true, KnownProperty: func(id uint32, data []byte) (bool, error) {
			if id == 77 && len(data) > 0 {
				return true, bad
			}
			return id == 77, nil
		}})
		_, f := v.Learn([]header.Property{prop(t, 1, "00002000"), c.p, prop(t, 2, "00002000")})
		if f == nil || f.Code != c.code || f.Found != c.found || f.Want != c.want {
			t.Errorf("%s: fault %+v, want code %d, %d, %d", c.name, f, c.code, c.found, c.want)
			continue
		}
		if c.p.ID == 77 && !errors.Is(f, bad) {
			t.Errorf("%s: %v", c.name, f)
		}
		if got := v.Refusal(f); got.Code != header.ErrChunk {
			t.Errorf("%s: answered with %+v", c.name, got)
		}
		if diff := cmp.Diff(defaults, v.Terms(true)); diff != "" {
			t.Errorf("%s: a part was applied: %s", c.name, diff)
		}
		if got, f := v.Learn([]header.Property{prop(t, 2, "00002000")}); f != nil || v.Terms(true).Send != 8192 {
			t.Errorf("%s: a good set after it: %+v, %v", c.name, got, f)
		}
	}
}

// R228: a property of an extension is in a set once, too.
func TestExtensionPropertyTwice(t *testing.T) {
	v := v2.New(v2.Config{KnownProperty: func(id uint32, _ []byte) (bool, error) { return id == 77, nil }})
	_, f := v.Learn([]header.Property{prop(t, 77, "01"), prop(t, 78, "01"), prop(t, 78, "01"), prop(t, 77, "")})
	if f == nil || f.Code != header.FaultTwice || f.Found != 77 {
		t.Errorf("fault %+v, want property 77 twice", f)
	}
}

// T105, A13, R219, R224: later sets change nothing, even if they have other values, the same ones,
// or none. But each round of host authentication is passed on, and invalid sets are refused.
func TestLearnLater(t *testing.T) {
	v := v2.New(v2.Config{Own: own, Invalidate: true})
	if _, f := v.Learn([]header.Property{prop(t, 2, "00001800"), prop(t, 5, "00000002")}); f != nil {
		t.Fatal(f)
	}
	first := v.Terms(true)
	for _, c := range []struct {
		name string
		set  []header.Property
		auth []byte
		has  bool
	}{
		{"none", nil, nil, false},
		{"the same", []header.Property{prop(t, 2, "00001800"), prop(t, 5, "00000002")}, nil, false},
		{"others", []header.Property{prop(t, 2, "00002000"), prop(t, 1, "00002000"), prop(t, 5, "00000000")}, nil, false},
		{"a round", []header.Property{prop(t, 6, "00000003 01020300")}, []byte{1, 2, 3}, true},
		{"another round, with another value", []header.Property{prop(t, 6, "00000001 09000000"), prop(t, 2, "00001400")}, []byte{9}, true},
		{"an empty round", []header.Property{prop(t, 6, "00000000")}, nil, true},
	} {
		got, f := v.Learn(c.set)
		if f != nil {
			t.Fatalf("%s: %v", c.name, f)
		}
		if diff := cmp.Diff(first, v.Terms(true)); diff != "" || got.HasAuth != c.has || !bytes.Equal(got.Auth, c.auth) {
			t.Errorf("%s: % x %v %s", c.name, got.Auth, got.HasAuth, diff)
		}
	}
	if _, f := v.Learn([]header.Property{prop(t, 2, "00")}); f == nil || f.Code != header.FaultProperty {
		t.Errorf("an invalid later set: %v", f)
	}
}

// R219: a message of host authentication goes through the codec of both ends, whatever its length.
func TestHostAuth(t *testing.T) {
	for n := range 9 {
		sent := bytes.Repeat([]byte{0xa5}, n)
		m := message(header.KindProps)
		m.Props = []header.Property{v2.HostAuth(sent)}
		b, err := newVersion(true).Append(make([]byte, 0, 64), &m)
		if err != nil {
			t.Fatal(err)
		}
		peer := newVersion(false)
		if f := peer.Decode(b, &m); f != nil {
			t.Fatal(f)
		}
		got, f := peer.Learn(m.Props)
		if f != nil || !got.HasAuth || !bytes.Equal(got.Auth, sent) {
			t.Errorf("%d bytes: % x %v, fault %v", n, got.Auth, got.HasAuth, f)
		}
	}
	b := v2.HostAuth([]byte{1, 2, 3, 4, 5})
	if diff := cmp.Diff(prop(t, 6, "00000005 01020304 05000000"), b); diff != "" {
		t.Error(diff)
	}
}

// The value of host authentication is a slice of the message, not a copy.
func TestHostAuthInPlace(t *testing.T) {
	b := unhex(t, prefix+"00000005 00000000 00000001 00000006 00000008 00000004 01020304")
	v := newVersion(false)
	var m header.Message
	if f := v.Decode(b, &m); f != nil {
		t.Fatal(f)
	}
	got, f := v.Learn(m.Props)
	if f != nil || len(got.Auth) != 4 || &got.Auth[0] != &b[len(b)-4] {
		t.Errorf("% x, fault %v", got.Auth, f)
	}
	if n := testing.AllocsPerRun(10, func() { v.Learn(m.Props) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The error for an undefined level of reverse support names the value found and the valid values.
func TestInvalidLevelIsNamed(t *testing.T) {
	_, f := newVersion(true).Learn([]header.Property{{ID: 5, Data: []byte{0, 0, 0, 9}}})
	if f == nil {
		t.Fatal("the value 9 is accepted")
	}
	for _, want := range []string{"property 5", "it is 9", "0 (none)", "1 (inline)", "2 (general)"} {
		if !strings.Contains(f.Error(), want) {
			t.Errorf("%v does not contain %q", f, want)
		}
	}
}
