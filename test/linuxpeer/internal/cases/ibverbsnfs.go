package cases

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// Ports of the guest for servers over the provider ibverbs.
const (
	verbsNFS   = 20050 // NFS over RDMA
	verbsMount = 20051 // MOUNT over TCP
)

// nfs3 returns a command line of nfs over a device of the guest. The ports are the NFS server's and
// the MOUNT server's.
func (d verbsDevice) nfs3(command string, port, mountPort int, args ...string) []string {
	argv := []string{
		"nfs", command, "-provider", "ibverbs=" + d.name, "-port", fmt.Sprint(port), "-mountport", fmt.Sprint(mountPort),
		"-uid", "0", "-gid", "0", "-timeout", "20s",
	}
	return append(argv, args...)
}

// copies puts a file of 8 MiB to a server and gets it back, by the command nfs in the
// guest.
func (d verbsDevice) copies(t *T, host string, port, mountPort int) {
	t.Shell("dd if=/dev/urandom of=/tmp/data bs=1M count=8 2>/dev/null")
	t.Cleanup(func() { t.Shell("rm -f /tmp/data /tmp/back") })
	t.Run(d.nfs3("put", port, mountPort, "-q", "/tmp/data", host+":/export/data")...)
	t.Run(d.nfs3("get", port, mountPort, "-q", host+":/export/data", "/tmp/back")...)
	t.Run("cmp", "/tmp/data", "/tmp/back")
}

// verbsToKernel copies a file to the kernel's server and back.
func verbsToKernel(t *T, d verbsDevice) {
	t.Cleanup(func() { t.Shell("rm -f /export/data") })
	d.copies(t, d.addr, nfsRDMA, mountd)
	t.Run("cmp", "/tmp/data", "/export/data")
	t.Say("8 MiB each way")
}

// serve starts the server nfsserve over a device of the guest, until the end of the case.
// It serves an empty directory.
func (d verbsDevice) serve(t *T) {
	t.Shell("rm -rf /tmp/share /tmp/state && mkdir -m 777 /tmp/share")
	t.Cleanup(func() { t.Shell("rm -rf /tmp/share /tmp/state") })
	server := t.Background("nfsserve", "-provider", "ibverbs="+d.name, "-rdma", fmt.Sprintf("%s:%d", d.addr, verbsNFS),
		"-tcp", fmt.Sprintf("0.0.0.0:%d", verbsMount), "-portmap", "off", "-state", "/tmp/state", "-allow-root", "-async", "/tmp/share")
	server.Await("serving /tmp/share")
}

// mountArgs returns the arguments of mount.nfs for the directory of serve.
func (d verbsDevice) mountArgs() []string {
	return []string{
		d.addr + ":/export", mountPoint, "-o",
		fmt.Sprintf("vers=3,proto=rdma,port=%d,mountproto=tcp,mountport=%d,nolock,retry=0", verbsNFS, verbsMount),
	}
}

// mountOwn mounts the directory of serve by the kernel's client, until the end of the case. Then
// the server must have no memory pinned.
func (d verbsDevice) mountOwn(t *T) {
	d.serve(t)
	t.Run("mkdir", "-p", mountPoint)
	t.Run(append([]string{"timeout", "25", "mount.nfs"}, d.mountArgs()...)...)
	t.Cleanup(func() {
		t.Run("umount", mountPoint)
		// The kernel's client disconnects some time later.
		t.Await("end of the memory that serve has pinned", func() bool {
			return t.Shell("grep VmPin /proc/$(pidof nfsserve)/status | tr -s '\t ' ' '") == "VmPin: 0 kB"
		})
	})
}

// verbsFromKernel lets the kernel's client use a directory as programs do.
func verbsFromKernel(t *T, d verbsDevice) {
	d.mountOwn(t)
	out, err := t.Background("mounttest", "tree", "-size", "8000000", mountPoint).Wait()
	if err != nil {
		t.Fatalf("%s", out)
	}
	t.Say("%d checks", strings.Count(out, "PASS"))
}

// verbsFSX makes random operations on a directory that the kernel's client has mounted, and mounts
// it again several times.
func verbsFSX(t *T, d verbsDevice) {
	d.mountOwn(t)
	argv := append([]string{"mounttest", "fsx", "-steps", fmt.Sprint(verbsSteps), "-parts", "6", mountPoint}, d.mountArgs()...)
	out, err := t.Background(argv...).Wait()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Say("%d operations: %s", verbsSteps, lastLine(out))
}

// verbsSteps is the number of random operations, which take a minute or two.
const verbsSteps = 2000

// verbsFSXToKernel makes random operations on the export of the kernel's server, by our client. No
// file has a hole, because the server reads files with holes wrongly from tmpfs (nfs/hole).
func verbsFSXToKernel(t *T, d verbsDevice) {
	t.Shell("mkdir /export/fsx")
	t.Cleanup(func() { t.Shell("rm -rf /export/fsx") })
	out := t.Run(d.verbspeer("-n", fmt.Sprint(verbsSteps), "fsx", fmt.Sprint(nfsRDMA), fmt.Sprint(mountd), d.addr+":/export/fsx", "/export/fsx")...)
	t.Say("%d operations: %s", verbsSteps, lastLine(out))
}

// verbsToIWARP copies a file to a server on the host, over the guest's siw and the provider iwarp.
func verbsToIWARP(t *T, d verbsDevice) {
	s := newShare(t, shareConfig{Config: nfsd.Config{AllowRoot: true}, RDMA: true, CRC: true})
	d.copies(t, guest.HostAddr, port(t, s.addresses[2]), port(t, s.addresses[0]))
	t.Say("8 MiB each way")
}
