package trace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// The RPC-over-RDMA version 1 headers (RFC 8166 §4) of a Call and a Reply of NFSv3's
// NULL procedure, XID 0x1234.
const (
	nullCall  = "00001234 00000001 00000020 00000000 00000000 00000000 00000000 00001234 00000000 00000002 000186a3 00000003 00000000 00000000 00000000 00000000 00000000"
	nullReply = "00001234 00000001 00000020 00000000 00000000 00000000 00000000 00001234 00000001 00000000 00000000 00000000 00000000"
)

// capture traces a client that does a Write, sends a Call, gets the Reply and does a Read.
func capture(t *testing.T, w *bytes.Buffer, snap int) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	now := time.Unix(1000, 0)
	file := trace.NewCapture(w, snap)
	tr := trace.New(trace.Config{Sink: func(trace.Event) {}, Capture: file, Now: func() time.Time { now = now.Add(time.Millisecond); return now }})
	n := mem.New(nil)
	inner, err := n.Open("client", nil)
	must(err)
	server, err := n.Open("server", nil)
	must(err)
	type end struct {
		pd verbs.ProtectionDomain
		cq verbs.CompletionQueue
		qp verbs.QueuePair
		mr verbs.MemoryRegion
	}
	const size = 50000
	open := func(d verbs.Device) (e end) {
		e.pd, err = d.AllocPD()
		must(err)
		e.cq, err = d.CreateCQ(32, nil)
		must(err)
		e.qp, err = e.pd.CreateQP(verbs.QPConfig{SendCQ: e.cq, RecvCQ: e.cq, MaxSendWR: 8, MaxRecvWR: 8})
		must(err)
		e.mr, err = e.pd.RegisterMemory(make([]byte, size), verbs.AccessLocalWrite|verbs.AccessRemoteRead|verbs.AccessRemoteWrite)
		must(err)
		return e
	}
	client := tr.Device(inner)
	c, s := open(client), open(server)
	ctx := context.Background()
	ln, err := server.Listen(ctx, "nfs")
	must(err)
	dialed := make(chan error)
	go func() {
		_, err := client.Dial(ctx, "nfs", c.qp, &verbs.ConnParams{PrivateData: []byte("hello")})
		dialed <- err
	}()
	req, err := ln.Accept(ctx)
	must(err)
	_, err = req.Accept(ctx, s.qp, &verbs.ConnParams{PrivateData: []byte("welcome")})
	must(err)
	must(<-dialed)
	must(ln.Close())
	poll := func(e end, want int) {
		t.Helper()
		wcs := make([]verbs.WC, 8)
		if k, err := e.cq.Poll(wcs); k != want || err != nil || wcs[0].Err() != nil {
			t.Fatal(k, err, wcs[0].Err())
		}
	}
	message := func(e end, text string) []verbs.SGE {
		b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		must(err)
		copy(e.mr.Bytes(), b)
		return []verbs.SGE{{MR: e.mr, Length: len(b)}}
	}
	_, err = s.qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: s.mr, Length: 4096}}}})
	must(err)
	_, err = c.qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: c.mr, Offset: 4096, Length: 10}, {MR: c.mr, Offset: 8192, Length: 4096}}}})
	must(err)
	_, err = c.qp.PostSend([]verbs.SendWR{
		{Opcode: verbs.RDMAWrite, SGL: []verbs.SGE{{MR: c.mr, Length: size}}, RKey: s.mr.RKey(), RemoteAddr: s.mr.RemoteAddr()},
		{Opcode: verbs.Send, Flags: verbs.SendSignaled | verbs.SendSolicited, SGL: message(c, nullCall)},
	})
	must(err)
	poll(c, 1)
	poll(s, 1)
	_, err = s.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: message(s, nullReply)}})
	must(err)
	poll(c, 1)
	_, err = c.qp.PostSend([]verbs.SendWR{{WRID: 3, Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: c.mr, Length: 77}}, RKey: s.mr.RKey(), RemoteAddr: s.mr.RemoteAddr()}})
	must(err)
	poll(c, 1)
	for _, e := range []end{c, s} {
		must(e.qp.Close())
		must(e.mr.Deregister())
		must(e.cq.Close())
		must(e.pd.Close())
	}
	must(client.Close())
	must(server.Close())
	must(file.Err())
}

// Wireshark dissects the file down to NFS, and reports neither a wrong checksum or CRC nor a
// malformed packet.
func TestCaptureInWireshark(t *testing.T) {
	tshark := witness.Program(t, "tshark")
	var file bytes.Buffer
	capture(t, &file, 0)
	name := filepath.Join(t.TempDir(), "trace.pcapng")
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(tshark, append([]string{"-r", name, "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", args, errText(err))
		}
		return string(out)
	}
	got := run("-T", "fields", "-E", "separator=|", "-e", "frame.interface_name", "-e", "tcp.dstport", "-e", "iwarp_rdma.opcode", "-e", "rpcordma.xid", "-e", "rpc.msgtyp")
	const want = `client/qp1|20049|||
client/qp1|49152|||
client/qp1|20049|0x00||
client/qp1|20049|0x00||
client/qp1|20049|0x03|0x00001234|0
client/qp1|49152|0x03|0x00001234|1
client/qp1|20049|0x01||
client/qp1|49152|0x02||
`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if bad := run("-Y", "_ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0 || tcp.analysis.flags || _ws.expert.severity >= \"Warning\""); bad != "" {
		t.Errorf("Wireshark complains:\n%s", bad)
	}
	if crcs := strings.Count(run("-V"), "Good CRC32"); crcs < 6 {
		t.Errorf("%d CRCs were looked at, want 6", crcs)
	}
	if null := run("-Y", "nfs || rpc.procedure == 0"); strings.Count(null, "\n") != 2 {
		t.Errorf("the Call and the Reply are dissected as:\n%s", null)
	}
}

// Blocks are complete and have the right numbers, with whole packets and with shortened ones.
func TestCaptureBlocks(t *testing.T) {
	for _, snap := range []int{0, 100} {
		var file bytes.Buffer
		capture(t, &file, snap)
		var types []uint32
		for b := file.Bytes(); len(b) > 0; {
			n := binary.LittleEndian.Uint32(b[4:])
			if n%4 != 0 || n < 12 || int(n) > len(b) || binary.LittleEndian.Uint32(b[n-4:]) != n {
				t.Fatalf("block %d has length %d of %d", len(types), n, len(b))
			}
			types = append(types, binary.LittleEndian.Uint32(b))
			if typ := types[len(types)-1]; typ == 6 {
				kept, full := binary.LittleEndian.Uint32(b[20:]), binary.LittleEndian.Uint32(b[24:])
				if want := full; snap > 0 && kept != min(want, uint32(snap)) || snap == 0 && kept != full {
					t.Errorf("%d of %d bytes kept", kept, full)
				}
			}
			b = b[n:]
		}
		if want := []uint32{0x0a0d0d0a, 1, 6, 6, 6, 6, 6, 6, 6, 6}; !cmp.Equal(types, want) {
			t.Errorf("blocks %#x, want %#x", types, want)
		}
	}
}

// The suite passes with a capture. After a write error the file gets no more packets, but
// everything else continues.
func TestCaptureAcceptance(t *testing.T) {
	full := errors.New("disk full")
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		var buf bytes.Buffer
		file := trace.NewCapture(&buf, 64)
		if strings.Contains(t.Name(), "messages") {
			file = trace.NewCapture(failing{full}, 0)
			if !errors.Is(file.Err(), full) {
				t.Errorf("error %v, want %v", file.Err(), full)
			}
		}
		tr := trace.New(trace.Config{Sink: func(trace.Event) {}, Capture: file})
		n := mem.New(nil)
		// Refused requests are written too.
		d, err := n.Open("both", &verbs.DeviceAttributes{MaxMessageSize: 4 << 20})
		if err != nil {
			t.Fatal(err)
		}
		dev := tr.Device(d)
		return verbstest.Fabric{Client: dev, Server: dev, Addr: "here", Precise: true}
	})
}

// errText returns the output of a command that failed.
func errText(err error) string {
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return err.Error() + ": " + string(exit.Stderr)
	}
	return err.Error()
}
