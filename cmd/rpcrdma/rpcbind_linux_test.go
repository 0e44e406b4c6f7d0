package main

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/examples/notes/notes/notesrpc"
	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
)

// info lists the table of Debian's rpcbind, and call finds a port by it.
func TestRealRpcbind(t *testing.T) {
	if !isolated.Run(t) {
		return
	}
	isolated.Rpcbind(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := rpcbind.Dial(ctx, "127.0.0.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	_, tcpAddr, rdmaAddr := servingNotes(t)
	number := notesrpc.Program().Number
	for netID, addr := range map[string]string{oncrpc.NetIDTCP: tcpAddr, oncrpc.NetIDRDMA: rdmaAddr} {
		if err := rpcbind.NewClient(conn, nil).Set(ctx, number, 1, netID, netip.MustParseAddrPort(addr), "superuser"); err != nil {
			t.Fatal(err)
		}
	}
	// Its socket in the file system takes the same calls, and names the user of a registration.
	code, out, errs := try(ctx, "call", "../../spec/x/rpcbind/rpcbind.x", "unix:/run/rpcbind.sock", "100000.4.4")
	if code != exitDone || !strings.Contains(out, "/run/rpcbind.sock") || !strings.Contains(out, "superuser") {
		t.Errorf("call: exit %d, %s%s", code, out, errs)
	}
	code, out, errs = try(ctx, "info", "-json", "localhost")
	if code != exitDone {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	o := objects(t, out)[0]
	if s := serviceAt(t, o, "0.0.0.0:111"); s["tls"] != "not offered" || s["low"] != 2. || s["high"] != 4. || len(s["versions"].([]any)) != 3 {
		t.Errorf("rpcbind itself: %v", s)
	}
	if s := serviceAt(t, o, rdmaAddr); s["rpcrdma_version"] != 1. || s["program"] != float64(number) {
		t.Errorf("over RDMA: %v", s)
	}
	if s := serviceAt(t, o, "/run/rpcbind.sock"); s["asked"] != false {
		t.Errorf("the socket: %v", s)
	}
	if code, out, errs := call("", notesFile, "localhost", "NOTES.NOTES_V1.NOTES_LIST"); code != exitDone || strings.TrimSpace(out) != "[]" {
		t.Errorf("call without a port: exit %d, %s%s", code, out, errs)
	}
	if code, out, errs := call("", "-carrier", "rdma", notesFile, "localhost", "NOTES.NOTES_V1.NOTES_LIST"); code != exitDone || strings.TrimSpace(out) != "[]" {
		t.Errorf("call over RDMA without a port: exit %d, %s%s", code, out, errs)
	}
	getattr := []string{"-d", `{"object":{"data":""}}`, "../../spec/x/nfs3/nfs3.x", "localhost", "100003.3.1"}
	if code, _, errs := call("", append([]string{"-carrier", "rdma"}, getattr...)...); code != exitFailed || !strings.Contains(errs, ":20049") {
		t.Errorf("NFS over RDMA without a port: exit %d, %s", code, errs)
	}
	// A call of an interface file to rpcbind itself, whose table has these entries.
	host := net.JoinHostPort("localhost", "111")
	if code, out, errs := call("", "../../spec/x/rpcbind/rpcbind.x", host, "100000.4.4"); code != exitDone || !strings.Contains(out, `"r_owner": "superuser"`) {
		t.Errorf("dump: exit %d, %s%s", code, out, errs)
	}
	if code, _, errs := call("", getattr...); code != exitPeer || !strings.Contains(errs, "not registered") {
		t.Errorf("an unknown program: exit %d, %s", code, errs)
	}
}
