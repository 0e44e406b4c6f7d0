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

// secondPoint is a second mount of the server. It shares no files with the first one, so that the
// kernel asks the server for each lock.
const secondPoint = "/mnt2"

const ipCommand = "/usr/bin/ip" // busybox has one without namespaces

// lockNetwork makes the server's network.
func lockNetwork(t *T) {
	t.Run(ipCommand, "netns", "add", "locker")
	t.Cleanup(func() { t.Run(ipCommand, "netns", "delete", "locker") })
	t.Shell(`ip() { /usr/bin/ip "$@"; }
		ip link add locker0 type veth peer name eth0 netns locker && ip addr add ` + lockerPeer + `/24 dev locker0 && ip link set locker0 up &&
		ip -n locker addr add ` + lockerAddr + `/24 dev eth0 && ip -n locker link set eth0 up && ip -n locker link set lo up &&
		rm -rf /run/locker && mkdir -p /run/locker/export /run/locker/state ` + mountPoint + ` ` + secondPoint + ` && chmod 777 /run/locker/export`)
}

// lockServer runs the server in its network.
func lockServer(t *T, flags ...string) *Process {
	args := append([]string{ipCommand, "netns", "exec", "locker", "nfsserve", "-log", "-tcp", lockerAddr + ":2049", "-rdma", "",
		"-portmap", "own", "-state", "/run/locker/state"}, flags...)
	server := t.Background(append(args, "/run/locker/export")...)
	server.Await("port mapper " + lockerAddr + ":111")
	return server
}

// lockMount mounts the server without options, and again in the second place.
func lockMount(t *T) {
	t.Run("timeout", "60", "mount.nfs", lockerAddr+":/export", mountPoint)
	t.Cleanup(func() { t.Shell("umount " + mountPoint + "; kill $(pidof rpc.statd)") })
	if out := t.Shell("grep ' " + mountPoint + " nfs ' /proc/mounts"); !strings.Contains(out, "local_lock=none") {
		t.Fatalf("the mount keeps locks to itself: %s", out)
	}
	t.Run("timeout", "60", "mount.nfs", lockerAddr+":/export", secondPoint, "-o", "nosharecache")
	t.Cleanup(func() { t.Shell("umount " + secondPoint) })
}

// tryLocks locks a file in each way that programs do, and checks the error of each. It returns the
// number of ways, and the time.
func tryLocks(t *T, want syscall.Errno) (ways int, took time.Duration) {
	start := time.Now()
	out := t.Run("mounttest", "locks", mountPoint)
	took = time.Since(start)
	for line := range strings.Lines(out) {
		name, result, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name == "F_UNLCK" {
			if !strings.HasPrefix(result, "0 in ") {
				t.Errorf("%s: %s, expected error 0", name, result)
			}
			continue
		}
		ways++
		if !strings.HasPrefix(result, fmt.Sprintf("%d in ", int(want))) {
			t.Errorf("%s: %s, expected error %d", name, result, int(want))
		}
	}
	if ways != 7 {
		t.Errorf("%d ways to lock a file, expected 7:\n%s", ways, out)
	}
	return ways, took
}

// mountLocks runs the server in the guest, mounts without any option, and locks a file in each way
// that programs do. Then two mounts want the same locks: the server calls the one that waits.
func mountLocks(t *T) {
	lockNetwork(t)
	server := lockServer(t)
	lockMount(t)
	ways, took := tryLocks(t, 0)
	server.Await("NLMPROC4_UNLOCK: NLM4_GRANTED")
	out := t.Run("timeout", "100", "mounttest", "contend", mountPoint, secondPoint)
	for _, want := range []string{"flock: granted", "fcntl: granted"} {
		if !strings.Contains(out, want) {
			t.Errorf("found %q, expected %q", out, want)
		}
	}
	server.Await("NLMPROC4_LOCK: NLM4_BLOCKED")
	t.Report(Finding{
		What: "locks of files, mount without options", Rule: "RFC 1813 §6; XNFS, chapter 10",
		Expected: "flock and fcntl, and the one of two mounts that waits is called by GRANTED", Saw: "locked and released; granted before the client asked again",
	})
	t.Say("%d ways to lock a file in %.1f s; two mounts, one waits and is called", ways, took.Seconds())
}

// mountLocksOff does so with a server that refuses locks: no program waits.
func mountLocksOff(t *T) {
	lockNetwork(t)
	server := lockServer(t, "-locks", "off")
	lockMount(t)
	ways, took := tryLocks(t, syscall.ENOLCK)
	server.Await("NLMPROC4_LOCK: NLM4_DENIED_NOLOCKS")
	t.Report(Finding{
		What: "lock of a file, a server without locks, mount without options", Rule: "RFC 1813 §6.1.4",
		Expected: "LOCK answered by NLM4_DENIED_NOLOCKS, and ENOLCK at once", Saw: "ENOLCK for flock and fcntl, those that wait too",
	})
	t.Say("%d ways to lock a file, ENOLCK, in %.1f s", ways, took.Seconds())
}

// mountLocksRestart kills the server while a program has a lock. The new one calls the client's
// status monitor, and the client reclaims the lock.
func mountLocksRestart(t *T) {
	lockNetwork(t)
	lockServer(t)
	lockMount(t)
	holder := t.Background("mounttest", "hold", mountPoint)
	holder.Await("held")
	t.Shell("kill -9 $(pidof nfsserve)")
	t.Shell("while pidof nfsserve; do sleep 0.1; done")
	server := lockServer(t, "-grace", "20s")
	server.Await("NLMPROC4_LOCK: NLM4_GRANTED")
	if out := t.Run("timeout", "100", "mounttest", "held", secondPoint); !strings.Contains(out, "is held") {
		t.Errorf("found %q, expected the lock to be refused", out)
	}
	// The second mount, until the grace period is over.
	server.Await("NLMPROC4_LOCK: NLM4_DENIED_GRACE_PERIOD")
	server.Await("NLMPROC4_LOCK: NLM4_DENIED,")
	t.Report(Finding{
		What: "locks after a restart of the server", Rule: "XNFS, chapter 11; RFC 1813 §6.1.4",
		Expected: "SM_NOTIFY, and LOCK with reclaim in the grace period", Saw: "the lock was reclaimed, and others were refused",
	})
	t.Say("the server was killed; the client reclaimed its lock in the grace period")
}

// mountLocksTwo locks a file by two client machines: the guest, and a separate network with its
// own port mapper and status monitor. The lock of one is refused to the other, which is called when
// the program that has it is killed.
func mountLocksTwo(t *T) {
	lockNetwork(t)
	t.Run(ipCommand, "netns", "add", "second")
	t.Cleanup(func() { t.Run(ipCommand, "netns", "delete", "second") })
	t.Shell(`ip() { /usr/bin/ip "$@"; }
		ip -n locker link add eth1 type veth peer name eth0 netns second && ip -n locker addr add 192.168.79.1/24 dev eth1 &&
		ip -n locker link set eth1 up && ip -n second addr add 192.168.79.2/24 dev eth0 && ip -n second link set eth0 up &&
		ip -n second link set lo up && ip -n second route add default via 192.168.79.1`)
	server := lockServer(t)
	lockMount(t)
	second := t.Background(ipCommand, "netns", "exec", "second", "sh", "-c", `mount -t tmpfs tmpfs /run && mkdir /run/rpcbind /run/mnt &&
		rpcbind && until netstat -ltn | grep -q ':111 '; do sleep 0.1; done
		trap 'umount -l /run/mnt; kill $(cat /run/rpc.statd.pid) $(cat /run/rpcbind.lock)' EXIT
		mount.nfs `+lockerAddr+`:/export /run/mnt || exit
		mounttest hold /run/mnt & echo $! >/tmp/holder; wait`)
	second.Await("held")
	server.Await("192.168.79.2:")
	waiter := t.Background("mounttest", "wait", mountPoint)
	waiter.Await("waits")
	server.Await("NLMPROC4_LOCK: NLM4_BLOCKED")
	t.Shell("kill -9 $(cat /tmp/holder)")
	waiter.Await("granted")
	if _, err := waiter.Wait(); err != nil {
		t.Errorf("the machine that waits: %v", err)
	}
	_, _ = second.Wait() // its program was killed
	t.Report(Finding{
		What: "locks of two client machines", Rule: "XNFS, chapter 10",
		Expected: "the lock of one is refused to the other, which is called by GRANTED when the first one's program ends", Saw: "refused, and granted",
	})
	t.Say("a lock is refused to another machine, and granted when its holder is killed")
}
