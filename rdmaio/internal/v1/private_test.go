package v1_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
)

// privateVectors were written by hand from the figure in RFC 8797 §4.
var privateVectors = []struct {
	name string
	p    v1.Private
	hex  string
}{
	{"the defaults, advertised", v1.Private{Send: 1024, Recv: 1024}, "f6ab0e18 01 00 00 00"},
	{"a Linux server", v1.Private{Send: 4096, Recv: 4096}, "f6ab0e18 01 00 03 03"},
	{"a Linux client", v1.Private{Send: 4096, Recv: 4096, RemoteInvalidate: true}, "f6ab0e18 01 01 03 03"},
	{"sizes differ", v1.Private{Send: 2048, Recv: 65536}, "f6ab0e18 01 00 01 3f"},
	{"the largest", v1.Private{Send: 262144, Recv: 262144, RemoteInvalidate: true}, "f6ab0e18 01 01 ff ff"},
}

// A Private has the bytes of its vector, both ways.
func TestPrivateVectors(t *testing.T) {
	for _, v := range privateVectors {
		want := unhex(t, v.hex)
		if diff := cmp.Diff(want, v.p.Append(nil)); diff != "" {
			t.Errorf("%s: encode: %s", v.name, diff)
		}
		got, ok := v1.FindPrivate(want)
		if diff := cmp.Diff(v.p, got); diff != "" || !ok {
			t.Errorf("%s: decode: %v %s", v.name, ok, diff)
		}
	}
}

// RFC 8797 §4.2: sizes are rounded down, never up, and limited to those that a byte can express.
func TestPrivateRounding(t *testing.T) {
	for n, want := range map[int]int{
		-1: 1024, 0: 1024, 1024: 1024, 2047: 1024, 2048: 2048, 4095: 3072, 262143: 261120, 262144: 262144, 1 << 30: 262144,
	} {
		if got := v1.InlineSize(n); got != want {
			t.Errorf("InlineSize(%d) = %d, want %d", n, got, want)
		}
		p := v1.Private{Send: n, Recv: 4096}
		if got, ok := v1.FindPrivate(p.Append(nil)); !ok || got.Send != want || got.Recv != 4096 {
			t.Errorf("size %d comes out as %+v", n, got)
		}
	}
}

// R331, A30, B22: a Private is found at any offset, and bytes that are none are not taken for one.
func TestFindPrivate(t *testing.T) {
	const good = "f6ab0e18 01 01 03 07"
	want := v1.Private{Send: 4096, Recv: 8192, RemoteInvalidate: true}
	for _, c := range []struct {
		name, hex string
		found     bool
	}{
		{"nothing", "", false},
		{"zeros", "00000000 00000000", false},
		{"at the start", good, true},
		{"A30: after IRD and ORD of MPA revision 2", "00800000 " + good, true},
		{"A30: at an odd offset", "ab " + good, true},
		{"in a field of 56 bytes filled with zeros", good + strings.Repeat("00", 48), true},
		{"reserved bits are ignored", "f6ab0e18 01 ff 03 07", true},
		{"after its own first bytes", "f6ab f6ab0e f6ab0e18 01 01 03 07", true},
		{"B22: version 0", "f6ab0e18 00 01 03 07", false},
		{"B22: version 2", "f6ab0e18 02 01 03 07", false},
		{"a later one after a wrong version", "f6ab0e18 02 01 03 07" + good, true},
		{"a Private within the bytes after an identifier", "f6ab0e18 " + good, true},
		{"the first of two", good + "f6ab0e18 01 00 00 00", true},
		{"the other byte order", "180eabf6 01 01 03 07", false},
		{"other last byte", "f6ab0e19 01 01 03 07", false},
	} {
		got, ok := v1.FindPrivate(unhex(t, c.hex))
		expect := v1.DefaultPrivate()
		if c.found {
			expect = want
		}
		if diff := cmp.Diff(expect, got); diff != "" || ok != c.found {
			t.Errorf("%s: found %v %s", c.name, ok, diff)
		}
	}
}

// A truncated Private is not found, at any offset.
func TestPrivateTruncated(t *testing.T) {
	for pad := range 9 {
		b := append(bytes.Repeat([]byte{0xf6}, pad), unhex(t, "f6ab0e18 01 01 03 03")...)
		for n := range b {
			if p, ok := v1.FindPrivate(b[:n:n]); ok || p != v1.DefaultPrivate() {
				t.Errorf("%d of %d bytes give %+v", n, len(b), p)
			}
		}
		if _, ok := v1.FindPrivate(b); !ok {
			t.Errorf("not found after %d bytes", pad)
		}
	}
}

// R36 to R39, R265: each direction is negotiated by itself, and both ends compute the same terms.
func TestBothEndsComputeTheSameTerms(t *testing.T) {
	type P = v1.Private
	for _, c := range []struct {
		name      string
		own, peer P
		want      header.Terms
	}{
		{"peer silent", P{4096, 4096, true}, v1.DefaultPrivate(), header.DefaultTerms()},
		{"equal", P{4096, 4096, true}, P{4096, 4096, true}, header.Terms{Send: 4096, Recv: 4096, RemoteInvalidate: true}},
		{"the peer receives less", P{8192, 4096, true}, P{4096, 2048, false}, header.Terms{Send: 2048, Recv: 4096}},
		{"we receive less", P{8192, 1024, false}, P{4096, 65536, true}, header.Terms{Send: 8192, Recv: 1024}},
		{"we send less", P{1024, 262144, true}, P{262144, 262144, true}, header.Terms{Send: 1024, Recv: 262144, RemoteInvalidate: true}},
	} {
		got := v1.Agree(c.own, c.peer)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		theirs := v1.Agree(c.peer, c.own)
		if theirs.Send != got.Recv || theirs.Recv != got.Send || theirs.RemoteInvalidate != got.RemoteInvalidate {
			t.Errorf("%s: we see %+v, the peer %+v", c.name, got, theirs)
		}
	}
}

// A Private that is found has the bytes that Append writes, and every occurrence is tried.
func FuzzPrivate(f *testing.F) {
	for _, v := range privateVectors {
		f.Add(unhex(f, v.hex))
		f.Add(append([]byte{0xf6, 0xab}, unhex(f, v.hex)...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := v1.FindPrivate(b)
		var want *v1.Private // by a plain search
		for at := 0; at+v1.PrivateSize <= len(b) && want == nil; at++ {
			w := b[at : at+v1.PrivateSize]
			if bytes.Equal(w[:5], []byte{0xf6, 0xab, 0x0e, 0x18, 1}) {
				want = &v1.Private{Send: 1024 * (1 + int(w[6])), Recv: 1024 * (1 + int(w[7])), RemoteInvalidate: w[5]%2 == 1}
				masked := append([]byte(nil), w...)
				masked[5] &= 1
				if got := want.Append(nil); !bytes.Equal(got, masked) {
					t.Errorf("%x encodes to %x", w, got)
				}
			}
		}
		switch {
		case ok != (want != nil):
			t.Errorf("%x: found %v", b, ok)
		case ok && p != *want:
			t.Errorf("%x: found %+v, want %+v", b, p, *want)
		case !ok && p != v1.DefaultPrivate():
			t.Errorf("%x: not found, yet %+v", b, p)
		}
	})
}
