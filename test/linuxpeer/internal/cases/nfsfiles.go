package cases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs"
)

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

// nfsHole reads a file that begins with a hole, from an offset that is not page aligned.
func nfsHole(t *T) {
	c := mountNFS(t, true, false, t.Forward(nfsRDMA))
	file, err := c.Create(t.Context(), c.root, "hole", nfs.Unchecked(0o600))
	t.Must(err)
	t.Cleanup(func() { _ = c.Remove(context.WithoutCancel(t.Context()), c.root, "hole") })
	const hole, size, offset = 40_000, 100_000, 100
	want := append(make([]byte, hole), random(size-hole)...)
	_, err = c.Write(t.Context(), file, hole, want[hole:], nfs3.StableHowFileSync)
	t.Must(err)
	got := make([]byte, size-offset)
	n, _, err := c.Read(t.Context(), file, offset, got)
	t.Must(err)
	saw := "the bytes of the file"
	right := bytes.Equal(got[:n], want[offset:])
	if !right {
		saw = "other bytes"
	}
	t.Report(Finding{
		What: "READ at offset 100 of a file on tmpfs with a hole of 40000 bytes at its start", Rule: "RFC 1813 §3.3.6",
		Expected: "the bytes of the file", Saw: saw, Deviation: !right,
	})
	t.Say("%s", saw)
}
