package stream

import (
	"net"
	"testing"
)

func TestSource(t *testing.T) {
	here := &net.TCPAddr{IP: net.ParseIP("192.0.2.1")}
	for _, tc := range []struct {
		ip   string
		own  bool
		want string
	}{
		{"192.0.2.7", false, "192.0.2.7"},
		{"::ffff:192.0.2.7", false, "192.0.2.7"},
		{"127.0.0.1", false, "invalid IP"},
		{"127.0.0.1", true, "127.0.0.1"},
		{"::1", false, "invalid IP"},
		{"2001:db8:1:2:3:4:5:6", false, "2001:db8:1:2::"},
		{"2001:db8:1:2::7", false, "2001:db8:1:2::"},
		{"2001:db8:1:3::7", false, "2001:db8:1:3::"},
		{"192.0.2.1", false, "invalid IP"}, // the listener's address
		{"192.0.2.1", true, "192.0.2.1"},
	} {
		if got := source(here, &net.TCPAddr{IP: net.ParseIP(tc.ip)}, tc.own); got.String() != tc.want {
			t.Errorf("%s: %v, want %s", tc.ip, got, tc.want)
		}
	}
	if got := source(here, &net.UnixAddr{}, true); got.IsValid() {
		t.Errorf("a socket file counts as %v", got)
	}
}
