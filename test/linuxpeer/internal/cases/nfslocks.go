package cases

import (
	"fmt"
	"strings"
	"syscall"
	"time"
)

// lockerAddr is the address of a server in a separate network, and lockerPeer the guest's address
// in that network. The server and the client need a port mapper each, and the client's lock manager
// registers at its own.
const lockerAddr, lockerPeer = "192.168.78.1", "192.168.78.2"

// mountLocks runs the server in the guest, mounts without any option, and locks a file in each way
// that programs do. The server has no locks, and says so: none of the programs waits.
func mountLocks(t *T) {
	const ip = "/usr/bin/ip" // busybox has one without namespaces
	t.Run(ip, "netns", "add", "locker")
	t.Cleanup(func() { t.Run(ip, "netns", "delete", "locker") })
	t.Shell(`ip() { /usr/bin/ip "$@"; }
		ip link add locker0 type veth peer name eth0 netns locker && ip addr add ` + lockerPeer + `/24 dev locker0 && ip link set locker0 up &&
		ip -n locker addr add ` + lockerAddr + `/24 dev eth0 && ip -n locker link set eth0 up && ip -n locker link set lo up &&
		mkdir -p /run/locker/export /run/locker/state ` + mountPoint + ` && chmod 777 /run/locker/export`)
	server := t.Background(ip, "netns", "exec", "locker", "nfsserve", "-log", "-tcp", lockerAddr+":2049", "-rdma", "",
		"-portmap", "own", "-state", "/run/locker/state", "/run/locker/export")
	t.Cleanup(func() { t.Shell("kill $(pidof nfsserve)") })
	server.Await("port mapper " + lockerAddr + ":111")

	t.Run("timeout", "60", "mount.nfs", lockerAddr+":/export", mountPoint)
	t.Cleanup(func() { t.Shell("umount " + mountPoint + "; kill $(pidof rpc.statd)") })
	if out := t.Shell("grep ' " + mountPoint + " nfs ' /proc/mounts"); !strings.Contains(out, "local_lock=none") {
		t.Fatalf("the mount keeps locks to itself: %s", out)
	}
	start := time.Now()
	out := t.Run("mounttest", "locks", mountPoint)
	took := time.Since(start)
	refused := 0
	for line := range strings.Lines(out) {
		name, result, _ := strings.Cut(strings.TrimSpace(line), ": ")
		want := syscall.ENOLCK
		if name == "F_UNLCK" {
			want = 0 // a file that is not locked
		}
		if !strings.HasPrefix(result, fmt.Sprintf("%d in ", int(want))) {
			t.Errorf("%s: %s, expected error %d", name, result, int(want))
		} else if want != 0 {
			refused++
		}
	}
	if refused != 7 {
		t.Errorf("%d ways to lock a file were refused, expected 7:\n%s", refused, out)
	}
	server.Await("NLMPROC4_LOCK: NLM4_DENIED_NOLOCKS")
	t.Report(Finding{
		What: "lock of a file, a server without locks, mount without options", Rule: "RFC 1813 §6.1.4",
		Expected: "LOCK answered by NLM4_DENIED_NOLOCKS, and ENOLCK at once", Saw: "ENOLCK for flock and fcntl, those that wait too",
	})
	t.Say("%d ways to lock a file, ENOLCK, in %.1f s", refused, took.Seconds())
}
