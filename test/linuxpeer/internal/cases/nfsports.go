package cases

import (
	"strings"

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
