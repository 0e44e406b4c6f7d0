package tcp_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Wireshark reads the probe and its reply (RFC 9289 §4.1), and no other message in plaintext.
func TestTsharkTLS(t *testing.T) {
	witness.Program(t, "tshark")
	a := tlstest.NewAuthority(t)
	s := listen(t, newService(), secured(a, tcp.TLSRequired))
	var out bytes.Buffer
	file := pcapng.NewFile(&out, 0)
	done := make(chan struct{})
	addr := scripted(t, func(c net.Conn) {
		defer close(done)
		relay(c, pcapng.Record(raw(t, s.Addr()), pcapng.Recording{File: file, Name: "probe", Initiator: true}))
	})
	c := dial(t, addr, secured(a, tcp.TLSRequired))
	double(t, c)
	_ = c.Close()
	<-done
	in := tshark.Input{File: filepath.Join(t.TempDir(), "tls.pcapng"), Args: []string{"-o", "rpc.dissect_unknown_programs:TRUE"}}
	if err := os.WriteFile(in.File, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := tshark.Complaints(t, in, ""); found != "" {
		t.Errorf("Wireshark complains:\n%s", found)
	}
	messages := 0
	for _, p := range tshark.Only(tshark.Parts(t, in, "rpc"), "rpc") {
		want := map[int][]string{
			1: {"Message Type: Call (0)", "Portmap (100000)", "Procedure: NULL (0)", "(7)\nLength: 0\n"},
			2: {"Reply State: accepted (0)", "Flavor: AUTH_NULL (0)\nLength: 8\nopaque data: 5354415254544c53", "executed successfully"},
		}[p.Packet]
		if p.One("rpc.xid") != "" {
			messages++
		}
		for _, line := range want {
			if !strings.Contains(p.Text, line) {
				t.Errorf("packet %d has no line with %q:\n%s", p.Packet, line, p.Text)
			}
		}
	}
	if messages != 2 {
		t.Errorf("%d messages in plaintext, want the probe and its reply", messages)
	}
}
