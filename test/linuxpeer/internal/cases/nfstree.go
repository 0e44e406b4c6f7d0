package cases

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs/page"
)

// DefaultSize is the usual size in bytes of the tree that the cases nfs-tree copy.
const DefaultSize = 24 << 20

// treeCases copy a tree to the kernel's server and back with the command of nfs/cmd/nfs.
func treeCases() []Case {
	return []Case{
		{Name: "nfs-tree/tcp", Timeout: 30 * time.Minute, Run: func(t *T) { nfsTree(t, "tcp", 2049) }},
		// Own: connections that are cut can hurt the server for later cases, see nfsRecovery.
		{Name: "nfs-tree/rdma", Own: true, Timeout: 30 * time.Minute, Run: func(t *T) { nfsTree(t, "rdma", nfsRDMA) }},
		{Name: "nfs-tree/kernel-tcp", Timeout: 30 * time.Minute, Run: func(t *T) { besideKernel(t, "tcp", 2049) }},
		{Name: "nfs-tree/kernel-rdma", Timeout: 30 * time.Minute, Run: func(t *T) { besideKernel(t, "rdma", nfsRDMA) }},
	}
}

// treeCopy copies a tree, by a program on the host.
type treeCopy struct {
	t               *T
	nfs3, transport string
	port            int // of the guest
}

// nfsTree copies a tree both ways. Each copy is cut in the middle and then resumed. Guest and host
// must compute the same digest of the tree.
func nfsTree(t *T, transport string, port int) {
	root, err := page.Root()
	t.Must(err)
	c := &treeCopy{t: t, nfs3: filepath.Join(t.Dir(), "nfs"), transport: transport, port: port}
	c.host("go", "build", "-C", root, "-o", c.nfs3, "./nfs/cmd/nfs")
	mounttest := filepath.Join(t.env.Dir, "mounttest")
	dir, err := os.MkdirTemp(t.Dir(), "trees") // a second try of the case has other ones
	t.Must(err)
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	c.host(mounttest, "fill", "-size", fmt.Sprint(t.env.Size), from)
	t.Shell(fmt.Sprintf("mount -o remount,size=%d /export", 2*t.env.Size+512<<20))
	if transport == "rdma" {
		t.Shell("echo 32 >/proc/fs/nfsd/threads") // as in nfsRecovery; the guest ends with the case
	}
	t.Cleanup(func() { t.Shell("rm -rf /export/tree") })
	want := c.host(mounttest, "sum", from)

	// A READ takes few bytes of a client: those to cut after are as many as some calls have.
	put := c.cut(t.env.Size/10, "put", from, "127.0.0.1:/export/tree")
	if got := t.Run("mounttest", "sum", "/export/tree"); got != want {
		t.Errorf("the tree of the guest has the digest %s, expected %s", got, want)
	}
	get := c.cut(10_000, "get", "127.0.0.1:/export/tree", to)
	if got := c.host(mounttest, "sum", to); got != want {
		t.Errorf("the tree that came back has the digest %s, expected %s", got, want)
	}
	rate := func(d time.Duration) float64 { return float64(t.env.Size) / 1e6 / d.Seconds() }
	t.Say("%d MB each way, cut and resumed: put %.1f s, %.1f MB/s; get %.1f s, %.1f MB/s", t.env.Size/1e6, put.Seconds(), rate(put), get.Seconds(), rate(get))
}

// host runs a program on the host, and returns its output.
func (c *treeCopy) host(argv ...string) string {
	out, err := exec.CommandContext(c.t.Context(), argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// cut copies a tree, and kills the program in the middle. Over TCP its connection is reset before
// that, when it has sent a number of bytes. Another program resumes the copy. cut returns the time
// of both.
func (c *treeCopy) cut(after int64, command, from, to string) time.Duration {
	limits := []int64{after}
	if c.transport == "rdma" { // a kill during a reconnect stops iw_cm: see close-before-rtr
		limits = nil
	}
	cutter, err := nfs.NewCutter(c.t.Forward(c.port), limits...)
	c.t.Must(err)
	defer cutter.Close()
	port := func(addr string) string {
		_, port, err := net.SplitHostPort(addr)
		c.t.Must(err)
		return port
	}
	argv := func(addr string) []string {
		return []string{
			c.nfs3, command, "-r", "-q", "-resume", "-timeout", "1m", "-uid", "0", "-gid", "0", "-transport", c.transport,
			"-port", port(addr), "-mountport", port(c.t.Forward(mountd)), from, to,
		}
	}
	first := argv(cutter.Addr())
	start := time.Now()
	ctx, kill := context.WithCancel(c.t.Context())
	defer kill()
	done := make(chan error, 1)
	go func() {
		out, err := exec.CommandContext(ctx, first[0], first[1:]...).CombinedOutput()
		c.t.Logf("%s: %v\n%s", strings.Join(first, " "), err, out)
		done <- err
	}()
	c.t.Await("half of a copy", func() bool {
		return cutter.Cuts() > 0 || len(done) > 0 || limits == nil && c.copied(command, to) > c.t.env.Size/5
	})
	kill()
	if err := <-done; err == nil {
		c.t.Fatalf("%s ended before it was cut: %v", command, err)
	}
	c.host(argv(c.t.Forward(c.port))...)
	return time.Since(start)
}

// besideKernel copies a tree within the guest, by the command of nfs/cmd/nfs and by cp on a mount
// of the kernel, and says how long each took. It measures rather than tests, so it runs only with
// -size.
func besideKernel(t *T, transport string, port int) {
	if t.env.Size == DefaultSize {
		t.Skipf("it measures: choose the size with -size")
	}
	t.Shell(fmt.Sprintf(`mount -o remount,size=%d /export && mkdir -p /mnt/loop && mounttest fill -size %d /tmp/tree`, 3*t.env.Size, t.env.Size))
	t.Cleanup(func() { t.Shell("rm -rf /tmp/tree /export/*") })
	want := t.Run("mounttest", "sum", "/tmp/tree")
	mount := fmt.Sprintf("mount.nfs 10.0.2.15:/export /mnt/loop -o vers=3,proto=%s,port=%d,mountproto=tcp,mountport=%d,nolock", transport, port, mountd)
	nfs3 := fmt.Sprintf("nfs %%s -r -q -transport %s -port %d -mountport %d ", transport, port, mountd)
	var times []string
	for _, c := range []struct{ what, prepare, run, result string }{
		{"nfs3 put", "true", fmt.Sprintf(nfs3, "put") + "/tmp/tree 10.0.2.15:/export/a", "/export/a"},
		{"cp to the mount", mount, "cp -r /tmp/tree /mnt/loop/b && umount /mnt/loop", "/export/b"},
		{"nfs3 get", "rm -rf /export/b", fmt.Sprintf(nfs3, "get") + "10.0.2.15:/export/a /tmp/back", "/tmp/back"},
		{"cp from the mount", "rm -rf /tmp/back && " + mount, "cp -r /mnt/loop/a /tmp/back && umount /mnt/loop", "/tmp/back"},
	} {
		t.Shell("sync; echo 3 >/proc/sys/vm/drop_caches; " + c.prepare)
		start := time.Now()
		t.Shell(c.run)
		times = append(times, fmt.Sprintf("%s %.1f s", c.what, time.Since(start).Seconds()))
		if got := t.Run("mounttest", "sum", c.result); got != want {
			t.Errorf("%s: the digest is %s, expected %s", c.what, got, want)
		}
	}
	t.Shell("rm -rf /tmp/back")
	t.Say("%d MB: %s", t.env.Size/1e6, strings.Join(times, ", "))
}

// copied returns about the number of bytes that a copy in progress has stored.
func (c *treeCopy) copied(command, to string) int64 {
	text := ""
	if command == "put" {
		text = c.t.Shell("du -s /export/tree 2>/dev/null | cut -f1")
	} else {
		text = c.host("sh", "-c", "du -s "+to+" 2>/dev/null | cut -f1")
	}
	n, _ := strconv.ParseInt(text, 10, 64) // nothing yet
	return n << 10
}
