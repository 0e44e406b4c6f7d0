package cases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/rpc"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
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
		add("64MiB-depth1", 2*time.Minute, func(t *T, crc bool) { nfsTransfer(t, crc, 64<<20, 1) })
		add("64MiB-depth32", 2*time.Minute, func(t *T, crc bool) { nfsTransfer(t, crc, 64<<20, 32) })
		add("recovery", time.Minute, nfsRecovery)
	}
	return all
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

// wantStatus fails the case unless err is the status.
func wantStatus(t *T, what string, err error, want nfs3.Status) {
	var s *nfs.StatusError
	if !errors.As(err, &s) || s.Status != want {
		t.Errorf("%s: found %v, expected %v", what, err, want)
	}
}

// nfsProcedures calls each procedure of package nfs. If long, nothing is placed directly, and calls
// and replies that do not fit inline are long messages.
func nfsProcedures(t *T, crc, long bool) {
	c := mountNFS(t, crc, long, t.Forward(nfsRDMA))
	ctx := t.Context()
	t.Must(c.Null(ctx))
	info, err := c.FSInfo(ctx, c.root)
	t.Must(err)
	attr, err := c.GetAttr(ctx, c.root)
	t.Must(err)
	if attr.Type != nfs3.FileTypeDir {
		t.Errorf("GETATTR of the export: %v, expected a directory", attr.Type)
	}
	t.Shell("mkdir /export/case && chmod 777 /export/case")
	t.Cleanup(func() { t.Shell("rm -r /export/case") })
	dir, err := c.Lookup(ctx, c.root, "case")
	t.Must(err)
	_, err = c.Lookup(ctx, dir, "none")
	wantStatus(t, "LOOKUP of no name", err, nfs3.StatusNoent)

	files(t, c, dir)
	links(t, c, dir)
	directory(t, c, dir)
	if left := t.Shell("ls -A /export/case"); left != "" {
		t.Errorf("the guest still has %q", left)
	}
	n := c.shapes.Counts()
	t.Logf("%v", n)
	if n.ErrorMessages > 0 || n.LongReplies == 0 {
		t.Errorf("%v: expected no errors, and long replies", n)
	}
	if long && n.LongCalls == 0 || !long && (n.ReadChunks < 2 || n.WritesUsed < 2 || n.LongCalls > 0) {
		t.Errorf("%v: expected long calls with -long, else read and write chunks", n)
	}
	t.Say("rtmax %d, wtmax %d; %v", info.Rtmax, info.Wtmax, n)
}

// files creates, writes, reads and removes files.
func files(t *T, c *mounted, dir nfs3.Handle) {
	ctx := t.Context()
	file, err := c.Create(ctx, dir, "file", nfs.Unchecked(0o640))
	t.Must(err)
	verf := nfs3.CreateVerf{1, 2, 3, 4, 5, 6, 7, 8}
	_, err = c.Create(ctx, dir, "once", nfs.Exclusive(verf))
	t.Must(err)
	_, err = c.Create(ctx, dir, "once", nfs.Exclusive(verf)) // as if sent again
	t.Must(err)
	_, err = c.Create(ctx, dir, "once", nfs.Exclusive(nfs3.CreateVerf{9}))
	wantStatus(t, "CREATE with another verifier", err, nfs3.StatusExist)

	data := bytes.Repeat([]byte("line upon line\n"), 4000)
	for _, size := range []int{1, 3, 1000, 4095, 4097, 60000} { // inline and by chunk
		res, err := c.Write(ctx, file, 10, data[:size], nfs3.StableHowUnstable)
		t.Must(err)
		committed, err := c.Commit(ctx, file)
		t.Must(err)
		if int(res.Count) != size || committed != res.Verf {
			t.Errorf("WRITE of %d bytes: %d written, verifier %x, COMMIT %x", size, res.Count, res.Verf, committed)
		}
		buf := make([]byte, size)
		n, _, err := c.Read(ctx, file, 10, buf)
		if err != nil || !bytes.Equal(buf[:n], data[:size]) {
			t.Errorf("READ of %d bytes: %d, %v, or other bytes", size, n, err)
		}
	}
	if n := t.Shell("tail -c 60000 /export/case/file | grep -c '^line upon line$'"); n != "4000" {
		t.Errorf("the guest has %s lines, expected 4000", n)
	}
	buf := make([]byte, 70000)
	n, eof, err := c.Read(ctx, file, 0, buf)
	if err != nil || n != 60010 || !eof {
		t.Errorf("READ of all: %d bytes, end %t, %v, expected 60010 and the end", n, eof, err)
	}
	n, eof, err = c.Read(ctx, file, 1<<20, buf)
	if err != nil || n != 0 || !eof {
		t.Errorf("READ after the end: %d bytes, end %t, %v", n, eof, err)
	}
	t.Must(c.Remove(ctx, dir, "file"))
	t.Must(c.Remove(ctx, dir, "once"))
	wantStatus(t, "REMOVE of no name", c.Remove(ctx, dir, "file"), nfs3.StatusNoent)
	_, err = c.Lookup(ctx, dir, "file") // its handle may be valid for a while: nfsd caches files
	wantStatus(t, "LOOKUP of a removed file", err, nfs3.StatusNoent)
}

// links creates and reads symbolic links: one inline, one that no Send can have.
func links(t *T, c *mounted, dir nfs3.Handle) {
	ctx := t.Context()
	for i, path := range []string{"../target", "/" + strings.Repeat("folder/", 570)} {
		name := fmt.Sprint("link", i)
		t.Must(c.SymLink(ctx, dir, name, path))
		link, err := c.Lookup(ctx, dir, name)
		t.Must(err)
		got, err := c.ReadLink(ctx, link, 4096)
		if err != nil || got != path {
			t.Errorf("READLINK: %d bytes, %v, expected the path of %d bytes", len(got), err, len(path))
		}
		if seen := t.Run("readlink", "/export/case/"+name); seen != path {
			t.Errorf("the guest has a link to %d bytes, expected %d", len(seen), len(path))
		}
		t.Must(c.Remove(ctx, dir, name))
	}
}

// directory lists a directory in small and in large replies.
func directory(t *T, c *mounted, dir nfs3.Handle) {
	const count = 150
	t.Shell(fmt.Sprintf(`cd /export/case && n=0; while [ $n -lt %d ]; do : >$n-%s; n=$((n+1)); done`, count, strings.Repeat("n", 100)))
	for _, size := range []int{1024, 32 << 10} {
		entries, err := c.ReadDir(t.Context(), dir, size)
		t.Must(err)
		seen := map[string]bool{}
		for _, e := range entries {
			seen[string(e.Name)] = true
		}
		if len(entries) != count+2 || len(seen) != count+2 || !seen["."] || !seen[".."] {
			t.Errorf("READDIR of %d bytes: %d entries, %d names, expected %d", size, len(entries), len(seen), count+2)
		}
	}
	t.Shell("rm /export/case/*")
}

// random returns n bytes that look random.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b) // never fails
	return b
}

// upload writes a file and compares its bytes: as read back, and as the guest has them.
func upload(t *T, c *mounted, data []byte, size, depth int) (up, down time.Duration) {
	ctx := t.Context()
	file, err := c.Create(ctx, c.root, "big", nfs.Unchecked(0o600))
	t.Must(err)
	t.Cleanup(func() { _ = c.Remove(context.WithoutCancel(ctx), c.root, "big") })
	start := time.Now()
	t.Must(nfs.Upload(ctx, c.Client, file, data, size, depth))
	up = time.Since(start)
	got := make([]byte, len(data))
	start = time.Now()
	t.Must(nfs.Download(ctx, c.Client, file, got, size, depth))
	down = time.Since(start)
	if !bytes.Equal(got, data) {
		t.Errorf("the bytes read are not those written")
	}
	return up, down
}

// nfsTransfer moves a file to the server and back.
func nfsTransfer(t *T, crc bool, size, depth int) {
	c := mountNFS(t, crc, false, t.Forward(nfsRDMA))
	info, err := c.FSInfo(t.Context(), c.root)
	t.Must(err)
	data, block := random(size), int(min(info.Wtmax, info.Rtmax))
	if crc && depth > 1 { // less to send again each time that siw ends the connection: see below
		block = 16 << 10
	}
	up, down := upload(t, c, data, block, depth)
	n, s := c.shapes.Counts(), c.conn.Stats()
	if n.ReadChunks == 0 || n.WritesUsed == 0 || n.ErrorMessages > 0 {
		t.Errorf("%v: expected chunks both ways", n)
	}
	// siw misreads a CRC that comes in two TCP segments, and ends the connection. How TCP's bytes
	// come in segments is for QEMU to decide.
	faults := strings.Count(strings.Join(t.KernelLog(), "\n"), "siw: crc error")
	if int(s.Lost) > faults {
		t.Errorf("%d connections were lost, %d by siw's fault; %+v", s.Lost, faults, s)
	}
	rate := func(d time.Duration) float64 { return float64(size) / 1e6 / d.Seconds() }
	t.Say("%d MiB each way in calls of %d KiB: WRITE %.0f MB/s, READ %.0f MB/s, %d connections lost", size>>20, block>>10, rate(up), rate(down), s.Lost)
}

// nfsRecovery resets connections in the middle of a transfer.
func nfsRecovery(t *T, crc bool) {
	// A thread of the server waits for each RDMA Read. With as many Reads in progress as threads,
	// none is left to notice the end of the connection: Linux 6.1 then hangs.
	t.Shell("echo 32 >/proc/fs/nfsd/threads")
	cutter, err := nfs.NewCutter(t.Forward(nfsRDMA), 100_000, 1_000_000, 3_000_000)
	t.Must(err)
	t.Cleanup(func() { t.Must(cutter.Close()) })
	c := mountNFS(t, crc, false, cutter.Addr())
	upload(t, c, random(8<<20), 64<<10, 16)
	s := c.conn.Stats()
	// With CRCs siw ends some connections before it is their turn.
	if n := cutter.Cuts(); n == 0 || n < 3 && !crc || s.Connects < 4 {
		t.Errorf("%d connections cut, expected 3; %+v", n, s)
	}
	t.Say("%d connections reset, %d calls sent again", cutter.Cuts(), s.Retransmissions)
}
