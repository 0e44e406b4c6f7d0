package cases

import (
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/cancel"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs"
)

// nfsCases call the kernel's NFS/RDMA server over the provider iwarp.
func nfsCases() []Case {
	var all []Case
	for _, crc := range []bool{true, false} {
		name := "nfs/%s-crc"
		if !crc {
			name = "nfs/%s"
		}
		add := func(what string, limit time.Duration, run func(t *T, crc bool)) {
			// A connection that is cut can hurt the server for later cases.
			own := what == "recovery"
			all = append(all, Case{Name: fmt.Sprintf(name, what), Timeout: limit, Own: own, Run: func(t *T) { run(t, crc) }})
		}
		add("null", 0, nfsNull)
		add("procedures", time.Minute, func(t *T, crc bool) { nfsProcedures(t, crc, false) })
		add("long-messages", time.Minute, func(t *T, crc bool) { nfsProcedures(t, crc, true) })
		add("64mib-depth1", 2*time.Minute, func(t *T, crc bool) { nfsTransfer(t, crc, 64<<20, 1) })
		add("64mib-depth32", 2*time.Minute, func(t *T, crc bool) { nfsTransfer(t, crc, 64<<20, 32) })
		add("recovery", time.Minute, nfsRecovery)
	}
	return append(all, Case{Name: "nfs/version2-offer", Run: nfsVersion2}, Case{Name: "nfs/hole", Run: nfsHole})
}

// device opens a device of the provider iwarp, until the end of the case.
func device(t *T, crc bool) verbs.Device {
	dev, err := iwarp.Open(&iwarp.Config{NoCRC: !crc})
	t.Must(err)
	t.Cleanup(func() { t.Must(dev.Close()) })
	return dev
}

// nfsClient returns a client of the server at addr.
func nfsClient(t *T, dev verbs.Device, addr string) *rdmaio.Client {
	down := func(e rdmaio.Event) {
		if e, ok := e.(*rdmaio.ConnDown); ok {
			t.Logf("the connection is down: %v", e.Reason)
		}
	}
	cfg := &rdmaio.ClientConfig{Conn: &rdmaio.Config{Events: down}, MinBackoff: 50 * time.Millisecond, Retransmits: 100}
	c, err := rdmaio.NewClient(dev, addr, cfg)
	t.Must(err)
	t.Cleanup(func() { t.Must(c.Close()) })
	return c
}

// nfsNull calls procedure 0 of programs that the server has, and of those that it lacks.
func nfsNull(t *T, crc bool) {
	conn, err := rdmaio.Dial(t.Context(), device(t, crc), t.Forward(nfsRDMA), nil)
	t.Must(err)
	t.Cleanup(func() { t.Must(conn.Close()) })
	for _, row := range []struct {
		program, version uint32
		want             error
		saw              string
	}{
		{100003, 3, nil, "success"},
		{100003, 4, nil, "success"},
		{100003, 9, oncrpc.ErrProgMismatch, "PROG_MISMATCH"},
		{100005, 3, oncrpc.ErrProgUnavail, "PROG_UNAVAIL"},
	} {
		c := rpc.NewClient(conn, oncrpc.Program{Number: row.program, Version: row.version}, nil)
		if err := c.Call(t.Context(), 0, nil, nil, nil); !errors.Is(err, row.want) || row.want == nil && err != nil {
			t.Errorf("NULL of program %d version %d: %v, expected %v", row.program, row.version, err, row.want)
		}
		if crc {
			continue // the row is the same
		}
		t.Report(Finding{
			What: fmt.Sprintf("NULL of program %d version %d at the port of NFS/RDMA", row.program, row.version),
			Rule: "RFC 5531 §9", Expected: row.saw, Saw: row.saw,
		})
	}
	told := cancel.XIDs{conn.XID()} // as a Call that is given up would (docs/cancel.md)
	c := rpc.NewClient(conn, oncrpc.Program{Number: cancel.Program, Version: cancel.ProgramV1}, nil)
	if err := c.Call(t.Context(), cancel.ProcCalls, &told, nil, nil); !errors.Is(err, oncrpc.ErrProgUnavail) || conn.Err() != nil {
		t.Errorf("a Call of package cancel: %v, the connection is %v, expected PROG_UNAVAIL", err, conn.Err())
	}
	terms := conn.Terms()
	if terms.InlineSend != 4096 || terms.InlineRecv != 4096 {
		t.Errorf("inline thresholds %d and %d, expected 4096 as in the private data", terms.InlineSend, terms.InlineRecv)
	}
	t.Say("versions 3 and 4, PROG_UNAVAIL, PROG_MISMATCH; %d credits", conn.Stats().Granted)
}

// mounted is a client with the handle of the export.
type mounted struct {
	*nfs.Client
	root   nfs3.Handle
	conn   *rdmaio.Client
	shapes *nfs.Shapes
}

// mountNFS returns a client of the server at addr, with the guest's export.
func mountNFS(t *T, crc, long bool, addr string) *mounted {
	m := &mounted{root: export(t), shapes: new(nfs.Shapes)}
	m.conn = nfsClient(t, m.shapes.Device(device(t, crc)), addr)
	cred, err := nfs.Cred(0, 0)
	t.Must(err)
	m.Client = nfs.NewClient(m.conn, nfs.Config{Cred: cred, Long: long})
	return m
}

// nfsVersion2 offers version 2 of RPC-over-RDMA, which the server does not have, and calls NULL in
// the version that is left, on the same connection.
func nfsVersion2(t *T) {
	conn, err := rdmaio.Dial(t.Context(), device(t, true), t.Forward(nfsRDMA), &rdmaio.Config{Versions: []int{2, 1}})
	t.Must(err)
	t.Cleanup(func() { t.Must(conn.Close()) })
	t.Must(rpc.NewClient(conn, nfs.Program(), nil).Call(t.Context(), nfs3.ProcNull, nil, nil, nil))
	if v := conn.Terms().Version; v != 1 {
		t.Errorf("version %d, expected 1", v)
	}
	t.Report(Finding{
		What: "first message of a client that offers RPC-over-RDMA version 2", Rule: "RFC 8166 §7",
		Expected: "RDMA_ERROR, ERR_VERS", Saw: "ERR_VERS; version 1 works on the same connection",
	})
	t.Say("ERR_VERS, then NULL in version 1 on the same connection")
}
