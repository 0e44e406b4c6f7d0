package udp_test

import (
	"net/netip"
	"os/exec"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// Calls to all hosts of a network are ignored: each of many hosts would answer.
func TestBroadcastCallsAreIgnored(t *testing.T) {
	ip := witness.Program(t, "ip")
	if !isolated.Run(t) {
		return
	}
	for _, args := range [][]string{
		{"link", "add", "here", "type", "veth", "peer", "name", "there"},
		{"address", "add", "192.0.2.7/24", "broadcast", "192.0.2.255", "dev", "here"},
		{"link", "set", "here", "up"},
		{"link", "set", "there", "up"},
	} {
		if out, err := exec.Command(ip, args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v: %s", args, err, out)
		}
	}
	for _, tt := range []struct{ listen, to string }{
		{"0.0.0.0:0", "192.0.2.255"}, {"[::]:0", "192.0.2.255"},
	} {
		s := listen(t, tt.listen, newService(), nil)
		port := netip.MustParseAddrPort(s.Addr()).Port()
		sock := raw(t, netip.AddrPortFrom(netip.MustParseAddr(tt.to), port).String())
		if _, err := sock.Write(call(t, 1, 0)); err != nil {
			t.Fatal(tt.to, err)
		}
		waitFor(t, func() bool { st := s.Stats(); return st.Garbage+st.Calls == 1 })
		if st := s.Stats(); st.Garbage != 1 {
			t.Errorf("a Call to %s at %s: %+v", tt.to, tt.listen, st)
		}
		double(t, dial(t, netip.AddrPortFrom(netip.MustParseAddr("192.0.2.7"), port).String(), nil))
	}
}
