package cases

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/oracle"
)

// oracleCases ask the kernel's NFS server and ours the same questions.
func oracleCases() []Case {
	return []Case{
		{Name: "oracle/all", Timeout: 15 * time.Minute, Run: func(t *T) { askBoth(t, 1) }},
		{Name: "oracle/sample", Timeout: 4 * time.Minute, Run: func(t *T) { askBoth(t, 40) }},
	}
}

// memory is a folder of the host in a file system of the same kind as the guest's, tmpfs: others
// have other limits.
const memory = "/dev/shm"

// askBoth exports a directory of the guest by the kernel's server and one of the host by ours, and
// asks each server a share of the questions: one group in so many.
func askBoth(t *T, share int) {
	if !serverIsRoot() {
		t.Skipf("our server tells users apart if it is root: run the harness as root")
	}
	t.Shell(`mkdir -p /oracle && mount -t tmpfs -o nr_inodes=400k tmpfs /oracle && cd /oracle &&
		mkdir plain squashed && chmod 777 plain && mount --bind plain squashed`)
	t.Cleanup(func() {
		t.Shell(exportfs + `$x exportfs -u '*:/oracle/plain'; $x exportfs -u '*:/oracle/squashed'; $x exportfs -f
			until umount /oracle/squashed; do sleep 0.2; done; umount /oracle`)
	})
	t.Shell(exportfs + `o=rw,insecure,no_subtree_check,sync,sec=sys:none
		$x exportfs -o $o,no_root_squash,fsid=71 '*:/oracle/plain' && $x exportfs -o $o,root_squash,fsid=72 '*:/oracle/squashed'`)
	at, mounts := t.Forward(nfsTCP), t.Forward(mountd)
	theirs := oracle.Server{Plain: exported(t, at, mounts, "/oracle/plain"), Squashed: exported(t, at, mounts, "/oracle/squashed")}

	dir, err := os.MkdirTemp(memory, "linuxpeer-")
	t.Must(err)
	t.Cleanup(func() { t.Must(os.RemoveAll(dir)) })
	files := filepath.Join(dir, "files")
	t.Must(os.Mkdir(files, 0o777))
	t.Must(os.Chmod(files, 0o777)) // whatever the umask
	var ours oracle.Server
	for state, e := range map[string]*oracle.Export{"plain": &ours.Plain, "squashed": &ours.Squashed} {
		server, err := nfsd.New(nfsd.Config{Dir: files, State: filepath.Join(dir, state), AllowRoot: state == "plain"})
		t.Must(err)
		t.Cleanup(func() { t.Must(server.Close()) })
		listener, err := tcp.Listen(context.WithoutCancel(t.Context()), "127.0.0.1:0", server.Handler(), nil)
		t.Must(err)
		t.Cleanup(func() { t.Must(listener.Close()) })
		*e = exported(t, listener.Addr(), listener.Addr(), "/export")
	}

	cfg := oracle.Config{Seed: 1, Share: share}
	start := time.Now()
	a, err := oracle.Ask(t.Context(), &ours, cfg)
	t.Must(err)
	middle := time.Now()
	b, err := oracle.Ask(t.Context(), &theirs, cfg)
	t.Must(err)
	t.Logf("asked ours in %.1f s, the kernel's in %.1f s", middle.Sub(start).Seconds(), time.Since(middle).Seconds())
	wrong, unused := oracle.Compare(a, b, oracle.Linux(t.Kernel()))
	t.WriteFile("differences", []byte(strings.Join(wrong, "\n")))
	for i, line := range wrong {
		if i == 20 {
			t.Errorf("and %d more, in the file %s/differences", len(wrong)-i, t.Dir())
			break
		}
		t.Errorf("%s", line)
	}
	if share == 1 {
		for _, d := range unused {
			t.Errorf("no answers differ for this reason any more: %s: %s", d.Question, d.Reason)
		}
	}
	t.Say("%d questions, %.0f s", len(a), time.Since(start).Seconds())
}

// exportfs sets x to what runs exportfs of the release that knows the exports of the start script.
const exportfs = "x=/later/run; [ -x $x ] || x=\n"

// exported returns an export of a server, with a connection.
func exported(t *T, addr, mounts, path string) oracle.Export {
	cred, err := nfs.Cred(1000, 1000)
	t.Must(err)
	root, err := nfs.Mount(t.Context(), mounts, path, cred)
	t.Must(err)
	conn, err := tcp.Dial(t.Context(), addr, nil)
	t.Must(err)
	t.Cleanup(func() { t.Must(conn.Close()) })
	return oracle.Export{Carrier: conn, Root: root}
}
