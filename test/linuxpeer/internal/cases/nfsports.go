package cases

import (
	"fmt"
	"strings"
	"syscall"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// namespace runs a script in its own network namespace, where the ports of NFS, MOUNT and rpcbind
// are free, and with its own /run for rpcbind. Processes of the script end with it.
func namespace(t *T, script string) guest.Result {
	const ip = "/usr/bin/ip" // busybox has one without namespaces
	t.Run(ip, "netns", "add", "own")
	t.Cleanup(func() { t.Run(ip, "netns", "delete", "own") })
	t.Run(ip, "-n", "own", "link", "set", "lo", "up")
	head := `mount -t tmpfs tmpfs /run && mkdir /run/rpcbind /run/export /run/mnt /run/state && chmod 777 /run/export
		trap 'kill $(jobs -p) $(cat /run/rpcbind.lock 2>/dev/null) 2>/dev/null; wait' EXIT
		`
	res, err := t.Guest().Run(t.Context(), ip, "netns", "exec", "own", "sh", "-c", head+script)
	t.Logf("guest$ %s\n%s%s", script, res.Stdout, res.Stderr)
	t.Must(err)
	return res
}

// mountNoOptions runs the server in the guest, at the ports of a real one, and mounts without
// naming ports or versions. The client asks the server's port mapper, or rpcbind where one runs.
func mountNoOptions(t *T, rpcbind bool) {
	script := `nfsserve -portmap auto -tcp 127.0.0.1:2049 -rdma '' -state /run/state /run/export >/run/serve.log 2>&1 &
		until grep -q ^serving /run/serve.log; do sleep 0.1; done
		cat /run/serve.log
		echo "exports: $(showmount -e 127.0.0.1 | tail -n 1)"
		mount.nfs 127.0.0.1:/export /run/mnt -o nolock || exit
		echo hello >/run/mnt/file && cat /run/export/file
		grep ' /run/mnt nfs ' /proc/mounts
		echo "mounts: $(showmount -a 127.0.0.1 | tail -n 1)"
		umount /run/mnt && mount.nfs 127.0.0.1:/export /run/mnt -o nolock,vers=3,mountproto=tcp && echo "again: $(cat /run/mnt/file)" && umount /run/mnt
	`
	if rpcbind {
		script = "rpcbind && until netstat -ltn | grep -q ':111 '; do sleep 0.1; done\n" + script
	}
	out := namespace(t, script).Stdout
	for _, want := range []string{"exports: /export", "mounts: 127.0.0.1:/export", "vers=3,", "mountproto=udp", "again: hello"} {
		if !strings.Contains(strings.ReplaceAll(out, " *", ""), want) {
			t.Errorf("found\n%s\nexpected it to contain %q", out, want)
		}
	}
	where := "the server's own port mapper"
	if rpcbind {
		where = "rpcbind"
	}
	t.Report(Finding{
		What: "mount without ports and version, " + where + ", a server without version 4", Rule: "RFC 1833 §2.2.1, RFC 5531 §9",
		Expected: "version 4 refused by PROG_MISMATCH, then version 3 at the port of the mapper", Saw: "mounted with version 3; showmount -e and -a",
	})
	t.Say("mounted by %s; showmount, MOUNT over UDP", where)
}

// mountOwnHost locks files on the host of the server, where the kernel's lock manager registers at
// the same port mapper. With rpc.statd, which has to be there first, locks work; without it, they
// fail at once.
func mountOwnHost(t *T, statd, rpcbind bool) {
	script := `nfsserve -log -portmap auto -tcp 127.0.0.1:2049 -rdma '' -state /run/state /run/export >/run/serve.log 2>&1 &
		until grep -q ^serving /run/serve.log; do sleep 0.1; done
		mkdir /run/mnt2
		timeout -s KILL 60 mount.nfs 127.0.0.1:/export /run/mnt && echo mounted
		timeout -s KILL 60 mount.nfs 127.0.0.1:/export /run/mnt2 -o nosharecache && echo mounted again
		sleep 1
		timeout -s KILL 60 mounttest locks /run/mnt
		` + map[bool]string{true: "timeout -s KILL 100 mounttest contend /run/mnt /run/mnt2"}[statd] + `
		timeout 20 umount /run/mnt2; timeout 20 umount /run/mnt
		cat /run/serve.log; kill $(pidof rpc.statd)
		true
	`
	if statd {
		script = "rpc.statd --no-notify\n" + script
	}
	if rpcbind {
		script = "rpcbind && until netstat -ltn | grep -q ':111 '; do sleep 0.1; done\n" + script
	}
	out := namespace(t, script).Stdout
	with := "its own port mapper"
	switch {
	case statd:
		with = "rpcbind and rpc.statd"
	case rpcbind:
		with = "rpcbind alone"
	}
	errno := syscall.ENOLCK
	wants := []string{"mounted\n", "mounted again\n", "took the place of this one at the port mapper"}
	if statd {
		errno = 0
		wants = append(wants, "flock: granted", "fcntl: granted")
	}
	for _, way := range []string{"flock -n", "flock -s -n", "flock", "F_SETLK", "F_SETLK to read", "F_SETLKW"} {
		wants = append(wants, fmt.Sprintf("%s: %d in ", way, int(errno)))
	}
	for _, want := range wants {
		if !strings.Contains(out, want) {
			t.Errorf("found\n%s\nexpected it to contain %q", out, want)
		}
	}
	t.Report(Finding{
		What: "mount without options on the server's own host, with " + with, Rule: "RFC 1833 §2.2.1; XNFS, chapter 10",
		Expected: "a registration stays until its owner removes it", Saw: "the kernel's lock manager takes the server's registration, which registers again", Deviation: true,
	})
	t.Say("6 ways to lock a file: error %d", int(errno))
}
