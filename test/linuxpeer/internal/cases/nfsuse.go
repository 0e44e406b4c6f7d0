package cases

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// useCases use a share of ours through the kernel's mount, as programs do.
func useCases() []Case {
	var all []Case
	add := func(name string, run func(*T, shareConfig), ways ...transport) {
		for _, c := range ways {
			all = append(all, Case{Name: name + c.suffix, Timeout: 4 * time.Minute, Run: func(t *T) { run(t, c.shareConfig) }})
		}
	}
	ways := transports()
	add("mount/tree", mountTree, ways[0], ways[2]) // mount/fsx has CRCs
	add("mount/fsx", mountFSX, ways[:2]...)
	add("mount/restart", mountRestart, ways[0], ways[2])
	return append(all,
		Case{Name: "mount/copy-tcp", Timeout: 2 * time.Minute, Run: func(t *T) { mountCopy(t, shareConfig{}) }},
		Case{Name: "mount/copy", Timeout: 2 * time.Minute, Run: func(t *T) { mountCopy(t, shareConfig{RDMA: true}) }},
		Case{Name: "mount/no-options", Timeout: 2 * time.Minute, Run: func(t *T) { mountNoOptions(t, false) }},
		Case{Name: "mount/no-options-rpcbind", Timeout: 2 * time.Minute, Run: func(t *T) { mountNoOptions(t, true) }},
		Case{Name: "mount/locks", Timeout: 2 * time.Minute, Run: mountLocks},
		Case{Name: "mount/locks-off", Timeout: 2 * time.Minute, Run: mountLocksOff},
		Case{Name: "mount/locks-restart", Timeout: 3 * time.Minute, Run: mountLocksRestart},
		Case{Name: "mount/locks-here", Timeout: 4 * time.Minute, Run: func(t *T) { mountOwnHost(t, true, true) }},
		Case{Name: "mount/locks-here-alone", Timeout: 4 * time.Minute, Run: func(t *T) { mountOwnHost(t, false, true) }},
		Case{Name: "mount/locks-here-mapper", Timeout: 4 * time.Minute, Run: func(t *T) { mountOwnHost(t, false, false) }},
		Case{Name: "mount/locks-two", Timeout: 3 * time.Minute, Run: mountLocksTwo},
		Case{Name: "mount/acl", Run: mountACL},
		Case{Name: "mount/squash", Run: mountSquash},
	)
}

// serverIsRoot reports whether servers of this process can tell users apart.
func serverIsRoot() bool { return os.Geteuid() == 0 }

// mountTree runs the checks of mounttest.
func mountTree(t *T, cfg shareConfig) {
	cfg.AllowRoot, cfg.Async = true, true
	s := newShare(t, cfg)
	unmount := s.mount(t)
	argv := []string{"mounttest", "tree"}
	if serverIsRoot() {
		argv = append(argv, "-users")
	}
	start := time.Now()
	out, err := t.Background(append(argv, mountPoint)...).Wait()
	if err != nil {
		t.Fatalf("%s", out)
	}
	took := time.Since(start)
	mountListing(t, s)
	unmount()
	if left, err := os.ReadDir(s.cfg.Dir); err != nil || len(left) > 0 {
		t.Errorf("the directory still has %v, %v", left, err)
	}
	calls := s.calls.procedures()
	for p := nfs3.ProcGetAttr; p <= nfs3.ProcCommit; p++ {
		if calls[uint32(p)] == 0 && p != nfs3.ProcReadDir {
			t.Errorf("the kernel did not call procedure %d", p)
		}
	}
	sum := 0
	for _, n := range calls {
		sum += n
	}
	t.Say("%d checks in %.0f s, %d calls", strings.Count(out, "PASS"), took.Seconds(), sum)
}

// mountListing lists a large directory while names come and go on the host.
func mountListing(t *T, s *share) {
	const count = 3000
	dir := filepath.Join(s.cfg.Dir, "many")
	t.Must(os.Mkdir(dir, 0o755))
	name := func(what string, i int) string { return filepath.Join(dir, fmt.Sprint(what, i)) }
	for i := range count {
		t.Must(os.WriteFile(name("stays", i), nil, 0o644))
	}
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		var errs []error
		for i := 0; ; i = (i + 1) % 100 {
			select {
			case <-stop:
				stopped <- errors.Join(errs...)
				return
			case <-time.After(20 * time.Millisecond):
				errs = append(errs, os.WriteFile(name("new", i), nil, 0o644), os.Remove(name("new", i)))
			}
		}
	}()
	out, err := t.Guest().Run(t.Context(), "mounttest", "list", mountPoint+"/many")
	close(stop)
	t.Must(errors.Join(err, <-stopped))
	seen := map[string]int{}
	for name := range strings.Lines(out.Stdout) {
		seen[strings.TrimSpace(name)]++
	}
	for i := range count {
		if n := seen[fmt.Sprint("stays", i)]; n != 1 {
			t.Fatalf("a listing of %d names has stays%d %d times", count, i, n)
		}
	}
	t.Must(os.RemoveAll(dir))
}

// mountFSX makes random operations, and mounts the share again several times.
func mountFSX(t *T, cfg shareConfig) {
	cfg.AllowRoot, cfg.Async = true, true
	s := newShare(t, cfg)
	s.mount(t)
	argv := append([]string{"mounttest", "fsx", "-steps", "1000", "-parts", "4", mountPoint}, s.mountArgs(t, guest.HostAddr, "retry=0")...)
	out, err := t.Background(argv...).Wait()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Say("1000 operations: %s", lastLine(out))
}

// mountRestart restarts the server in the middle of writes. The kernel sends lost data again.
func mountRestart(t *T, cfg shareConfig) {
	cfg.AllowRoot = true
	s := newShare(t, cfg)
	s.mount(t)
	p := t.Background("mounttest", "fsx", "-steps", "600", "-parts", "6", "-safe", mountPoint)
	for part := range 3 {
		p.Await(fmt.Sprintf("part %d of", part+1))
		calls := s.calls.procedures()[nfs3.ProcWrite]
		t.Await("WRITE", func() bool { return s.calls.procedures()[nfs3.ProcWrite] > calls })
		t.Must(s.stop())
		s.start(t)
	}
	out, err := p.Wait()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Say("3 restarts in 600 operations: %s", lastLine(out))
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// mountCopy copies a tree to the share, by cp and by tar.
func mountCopy(t *T, cfg shareConfig) {
	cfg.AllowRoot, cfg.Async = true, true
	newShare(t, cfg).mount(t)
	sum := "mounttest sum "
	if serverIsRoot() {
		sum += "-times " // the files belong to the guest's root
	}
	t.Cleanup(func() { t.Shell("rm -rf /tmp/tree") })
	out := t.Shell(`mounttest fill -size 6000000 /tmp/tree && cp -a /tmp/tree /mnt/host/copy && mkdir /mnt/host/tar &&
		tar -C /tmp -cf - tree | tar -C /mnt/host/tar -xpf - && sync && echo 3 >/proc/sys/vm/drop_caches
		for dir in /tmp/tree /mnt/host/copy; do ` + sum + `$dir || exit; done
		for dir in /tmp/tree /mnt/host/tar/tree; do # busybox's tar does not keep the times of directories
			find $dir -type d -exec touch -d @1 {} + && ` + sum + `$dir || exit
		done`)
	if sums := strings.Fields(out); len(sums) != 4 || sums[0] != sums[1] || sums[2] != sums[3] {
		t.Errorf("the digests of the tree and of cp's copy, of the tree and of tar's copy: %q", sums)
	}
	t.Say("cp -a and tar keep contents, modes and times")
}

// mountACL sees the kernel ask for access control lists, and go on without them.
func mountACL(t *T) {
	s := newShare(t, shareConfig{})
	s.mount(t)
	t.Must(os.WriteFile(filepath.Join(s.cfg.Dir, "file"), nil, 0o640))
	if out := t.Shell("ls -l " + mountPoint); !strings.HasPrefix(out, "total 0\n-rw-r-----") {
		t.Errorf("ls -l: %q", out)
	}
	nfsacl := procedure{program: 100227, version: 3}
	if s.calls.other()[nfsacl] == 0 {
		t.Errorf("the kernel did not call NULL of NFSACL: %v", s.calls.other())
	}
	for _, line := range t.KernelLog() {
		if strings.Contains(strings.ToLower(line), "acl") {
			t.Errorf("the kernel says %q", line)
		}
	}
	t.Report(Finding{
		What: "mount of version 3, a server without NFSACL (program 100227)", Rule: "RFC 5531 §9", Expected: "NULL, and no further calls after PROG_UNAVAIL",
		Saw: "NULL, and no further calls after PROG_UNAVAIL",
	})
	for p := range s.calls.other() {
		if p.program == nfsacl.program && p != nfsacl {
			t.Errorf("the kernel called procedure %d of NFSACL", p.number)
		}
	}
	t.Say("NULL of NFSACL, answered with PROG_UNAVAIL")
}

// mountSquash uses a share as root. The server takes it for another user.
func mountSquash(t *T) {
	if !serverIsRoot() {
		t.Skipf("a server tells users apart only if it runs as root")
	}
	s := newShare(t, shareConfig{})
	s.mount(t)
	t.Must(os.WriteFile(filepath.Join(s.cfg.Dir, "secret"), nil, 0o600))
	t.Must(os.Mkdir(filepath.Join(s.cfg.Dir, "closed"), 0o700))
	out := t.Shell(`cd /mnt/host && echo x >new && stat -c %u:%g new
		for command in 'chown 1000 new' 'cat secret' 'ls closed' 'chmod 777 closed' 'touch closed/x' 'mknod dev c 1 3'; do
			$command 2>/dev/null && echo $command; done; true`)
	if out != "65534:65534" {
		t.Errorf("owner of a new file, and commands that worked: %q, expected 65534:65534 and none", out)
	}
	t.Say("root of the guest is user 65534")
}
