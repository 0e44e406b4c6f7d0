package admission_test

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// A Source is an IPv4 address, also one of a listener on [::], or an IPv6 network of 64 bits.
func TestSourceIsAnAddressOrANetwork(t *testing.T) {
	for _, tt := range []struct {
		local, remote, source string
		isLocal               bool
	}{
		{"", "192.0.2.1:700", "192.0.2.1/32", false},
		{"192.0.2.9:111", "[::ffff:192.0.2.1]:700", "192.0.2.1/32", false},
		{"", "[::ffff:192.0.2.2]:701", "192.0.2.2/32", false},
		{"", "[2001:db8:0:1:2::3]:700", "2001:db8:0:1::/64", false},
		{"", "[2001:db8:0:1:ffff::]:9", "2001:db8:0:1::/64", false},
		{"[2001:db8:0:2::4]:7", "[2001:db8:0:2::3]:700", "2001:db8:0:2::/64", false},
		{"", "[fe80::1%lo]:700", "fe80::/64", false},
		{"", "127.0.0.1:700", "127.0.0.1/32", true},
		{"", "127.1.2.3:700", "127.1.2.3/32", true},
		{"", "[::ffff:127.0.0.1]:700", "127.0.0.1/32", true},
		{"", "[::1]:700", "::/64", true},
		{"192.0.2.1:111", "[::ffff:192.0.2.1]:700", "192.0.2.1/32", true}, // of this machine
		{"[fe80::1%a]:1", "[fe80::1%b]:2", "fe80::/64", true},
		{"192.0.2.1:1", "pipe", "invalid Prefix", true},
		{"pipe", "@", "invalid Prefix", true},
	} {
		s := admission.SourceOf(tt.local, tt.remote)
		if fmt.Sprint(s) != tt.source || s.Local != tt.isLocal {
			t.Errorf("%s: found %v, of this machine: %v, want %s, %v", tt.remote, s, s.Local, tt.source, tt.isLocal)
		}
	}
}

// The limits are exact, in all and by source. By default this machine has no limit by source.
func TestConnectionsAreLimitedInAllAndBySource(t *testing.T) {
	here, a, b := admission.SourceOf("", "127.0.0.1:1"), admission.SourceOf("", "192.0.2.1:1"), admission.SourceOf("", "192.0.2.2:1")
	for _, tt := range []struct {
		name            string
		most, perSource int
		from            admission.Source
		admitted        int
		then            admission.Verdict
	}{
		{"by default", 100, 0, a, admission.DefaultPerSource, admission.SourceFull},
		{"by default, from here", 100, 0, here, 100, admission.Full},
		{"two", 100, 2, a, 2, admission.SourceFull},
		{"two from here", 100, 2, here, 2, admission.SourceFull},
		{"no limit by source", 100, -1, a, 100, admission.Full},
		{"in all", 3, 5, a, 3, admission.Full},
		{"no limit in all", 0, 5, a, 5, admission.SourceFull},
	} {
		c := admission.Conns{Most: tt.most, PerSource: tt.perSource}
		for i := range tt.admitted {
			if v, n := c.Enter(tt.from); v != admission.Admitted || n != i+1 {
				t.Fatalf("%s: connection %d: verdict %d, %d", tt.name, i+1, v, n)
			}
		}
		if v, n := c.Enter(tt.from); v != tt.then || n != tt.admitted {
			t.Errorf("%s: one more: verdict %d of %d, want %d of %d", tt.name, v, n, tt.then, tt.admitted)
		}
		if v, _ := c.Enter(b); (v == admission.Admitted) != (tt.then == admission.SourceFull) {
			t.Errorf("%s: of another source: verdict %d", tt.name, v)
		} else if v == admission.Admitted {
			c.Leave(b)
		}
		c.Leave(tt.from)
		if v, _ := c.Enter(tt.from); v != admission.Admitted {
			t.Errorf("%s: in the place of one that left: verdict %d", tt.name, v)
		}
		for range tt.admitted {
			c.Leave(tt.from)
		}
		if conns, sources := c.Len(); conns != 0 || sources != 0 {
			t.Errorf("%s: %d connections from %d sources are left", tt.name, conns, sources)
		}
	}
}

// The verdict is SourceFull even if the server is full, too: no other connection must make room for
// the next one of this source.
func TestFullSourceIsToldFirst(t *testing.T) {
	c, a := admission.Conns{Most: 2, PerSource: 2}, admission.SourceOf("", "192.0.2.1:1")
	c.Enter(a)
	c.Enter(a)
	if v, n := c.Enter(a); v != admission.SourceFull || n != 2 {
		t.Errorf("verdict %d of %d, want SourceFull", v, n)
	}
	if v, n := c.Enter(admission.SourceOf("", "192.0.2.2:1")); v != admission.Full || n != 2 {
		t.Errorf("another source: verdict %d of %d, want Full", v, n)
	}
}
