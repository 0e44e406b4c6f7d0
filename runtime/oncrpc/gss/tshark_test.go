package gss_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Wireshark reads our messages as RPCSEC_GSS: the creation of a context, calls with each service,
// and the destruction, each of the context that was created. Nothing is malformed.
func TestTsharkReadsOurMessages(t *testing.T) {
	witness.Program(t, "tshark")
	// Wireshark shows the tokens of known programs only. The tokens of gsstest do not have the form
	// of GSS-API's.
	nfs := oncrpc.Program{Number: 100003, Version: 3}
	for _, service := range services {
		t.Run(service.String(), func(t *testing.T) {
			var out bytes.Buffer
			realm := gsstest.NewRealm(4)
			h := gss.NewHandler(rpc.NewHandler(nil, rpc.NewService(nfs)), realm.Acceptor(), nil)
			ours, theirs := net.Pipe()
			server := tcp.ServeConn(theirs, h, &tcp.Config{Logger: quiet})
			recorded := pcapng.Record(ours, pcapng.Recording{File: pcapng.NewFile(&out, 0), Name: "client", Initiator: true})
			conn := tcp.NewConn(recorded, &tcp.Config{Logger: quiet})
			c := secure(t, conn, realm.Initiator("alice", "s"), service)
			client := rpc.NewClient(c, nfs, nil)
			for range 2 {
				if err := client.Call(soon(t), 0, nil, nil, nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Close(soon(t)); err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Close(), server.Close()

			in := tshark.Input{File: filepath.Join(t.TempDir(), "gss.pcapng"), Args: []string{"--disable-protocol", "gss-api"}}
			if err := os.WriteFile(in.File, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			if found := tshark.Complaints(t, in, ""); found != "" {
				t.Errorf("Wireshark complains:\n%s", found)
			}
			protected := "" // Wireshark passes encrypted data to the dissector of the mechanism
			if service == gss.Integrity {
				protected = "GSS Checksum: "
			}
			type message struct {
				packet int // the last one with a part of it
				text   string
			}
			var shown []message
			for _, p := range tshark.Only(tshark.Parts(t, in, "rpc", "nfs"), "rpc", "nfs") {
				if n := len(shown); n > 0 && shown[n-1].packet == p.Packet {
					shown[n-1].text += p.Text
				} else {
					shown = append(shown, message{p.Packet, p.Text})
				}
			}
			if len(shown) != 10 {
				t.Fatalf("%d messages, want 10", len(shown))
			}
			frame := func(message int) string { return strconv.Itoa(shown[message-1].packet) }
			created := "Created in frame: " + frame(4)
			want := [][]string{ // of each message
				{"GSS Procedure: RPCSEC_GSS_INIT (1)", "GSS Token"},
				{"GSS Major Status: 1", "GSS Sequence Window: 128", "GSS Context Length: 16"},
				{"GSS Procedure: RPCSEC_GSS_CONTINUE_INIT (2)", "GSS Token"},
				{"GSS Major Status: 0", "GSS Sequence Window: 128", "Flavor: RPCSEC_GSS (6)"},
				{"GSS Procedure: RPCSEC_GSS_DATA (0)", "GSS Sequence Number: 1", created, protected},
				{"Accept State: RPC executed successfully (0)", "Flavor: RPCSEC_GSS (6)", protected},
				{"GSS Procedure: RPCSEC_GSS_DATA (0)", "GSS Sequence Number: 2", created, protected},
				{"Accept State: RPC executed successfully (0)", "Flavor: RPCSEC_GSS (6)", protected},
				{"GSS Procedure: RPCSEC_GSS_DESTROY (3)", "GSS Sequence Number: 3", created, "Destroyed in frame: " + frame(9)},
				{"Accept State: RPC executed successfully (0)", "Flavor: RPCSEC_GSS (6)"},
			}
			for i := range want {
				for _, line := range want[i] {
					if text := shown[i].text; !strings.Contains(text, line) {
						t.Errorf("message %d has no line with %q:\n%s", i+1, line, text)
					}
				}
			}
		})
	}
}
