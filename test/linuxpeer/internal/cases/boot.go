package cases

import (
	"strings"
	"time"
)

// bootCases look at the guest alone.
func bootCases() []Case {
	return []Case{
		{Name: "boot/kernel", Run: bootKernel},
		{Name: "boot/devices", Run: bootDevices},
		{Name: "boot/rping-siw", Run: func(t *T) { rpingLoop(t, "10.0.2.15") }, Timeout: time.Minute},
		{Name: "boot/rping-rxe", Run: func(t *T) { rpingLoop(t, "192.168.77.1") }},
		{Name: "boot/knfsd-portlist", Run: bootPortlist},
	}
}

func bootKernel(t *T) {
	release := t.Run("uname", "-r")
	if release != t.Kernel() {
		t.Errorf("the kernel is %s, expected %s, for which the modules are", release, t.Kernel())
	}
	version := t.Run("uname", "-v")
	// Only a module of exactly this kernel has its magic string.
	for _, module := range []string{"siw", "rdma_rxe", "rpcrdma", "nfsd", "rdma_ucm"} {
		magic := t.Shell("grep -a -o 'vermagic=[^ ]* ' /lib/modules/" + module + ".ko | cut -d= -f2")
		if magic != release {
			t.Errorf("module %s is for %q, the kernel is %s", module, magic, release)
		}
		t.Run("grep", "-q", "^"+module+" ", "/proc/modules")
	}
	t.Say("%s %s", release, version)
}

func bootDevices(t *T) {
	links := t.Run("rdma", "link")
	for _, want := range []string{"link siw0/1 state ACTIVE", "link rxe0/1 state ACTIVE"} {
		if !strings.Contains(links, want) {
			t.Errorf("rdma link: %q, expected %q", links, want)
		}
	}
	info := t.Run("ibv_devinfo")
	for _, want := range []string{"iWARP", "InfiniBand"} {
		if !strings.Contains(info, want) {
			t.Errorf("ibv_devinfo: no device with transport %s: %s", want, info)
		}
	}
	t.Say("siw0 and rxe0 are active")
}

// rpingLoop runs rping's server and client in the guest on one device. A client tries again when
// the server does not listen yet, which netstat does not show, and when the first FPDU lies unread
// between two siws, a race that siw itself has (see readNudging).
func rpingLoop(t *T, addr string) {
	server := t.Background("rping", "-s", "-P", "-a", addr, "-p", "7175")
	client := t.Shell(`n=0
		until timeout -s KILL 5 rping -c -v -C 3 -p 7175 -a ` + addr + ` >/tmp/rping; do
			n=$((n+1)); [ $n -lt 5 ] || exit 1; sleep 0.2
		done 2>/dev/null
		cat /tmp/rping`)
	if n := strings.Count(client, "ping data: rdma-ping-"); n != 3 {
		t.Errorf("rping: %d of 3 pings: %s", n, client)
	}
	server.Stop()
	t.Say("3 pings")
}

func bootPortlist(t *T) {
	ports := t.Run("cat", "/proc/fs/nfsd/portlist")
	for _, want := range []string{"rdma 20049", "tcp 2049"} {
		if !strings.Contains(ports, want) {
			t.Errorf("/proc/fs/nfsd/portlist: %q, expected %q", ports, want)
		}
	}
	// A mount over RDMA within the guest shows that the server is alive.
	t.Shell(`mkdir -p /mnt/loop && mount -t nfs -o rdma,port=20049,vers=3,nolock,mountport=20048,mountproto=tcp 10.0.2.15:/export /mnt/loop`)
	t.Cleanup(func() { t.Run("umount", "/mnt/loop") })
	text := "written at " + t.Kernel()
	t.Run("sh", "-c", `echo "$1" >/mnt/loop/file && cmp /mnt/loop/file /export/file && rm /mnt/loop/file`, "sh", text)
	t.Say("%s; a file through a mount over siw0", strings.Join(strings.Fields(ports), " "))
}
