package cases

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// verbsDevice is a device of the guest that the provider ibverbs uses, in the guest.
type verbsDevice struct {
	name string // as the library names it
	kind string // part of a case's name
	addr string
	ib   bool // RoCE; otherwise iWARP

	// cut is a command of ip(8) that drops the packets between both ends when the device is
	// connected to itself. mend lets them through again.
	cut, mend []string

	// silent is an address that no packets reach between the commands of the shell hide and show.
	silent, hide, show string
}

func verbsDevices() []verbsDevice {
	return []verbsDevice{
		{
			name: "siw0", kind: "siw", addr: guest.GuestAddr,
			cut: []string{"link", "set", "lo", "down"}, mend: []string{"link", "set", "lo", "up"},
			silent: guest.GuestAddr + ":7000", hide: "ip link set lo down", show: "ip link set lo up",
		},
		{
			// rxe delivers packets to its own address itself. Those to its former address go out,
			// and are lost.
			name: "rxe0", kind: "rxe", addr: guest.RxeAddr, ib: true,
			cut:  []string{"link", "set", "rxenet", "address", "02:00:00:00:77:02"},
			mend: []string{"link", "set", "rxenet", "address", "02:00:00:00:77:01"},
			// The network has no other machine, and no ARP.
			silent: "192.168.77.9:7000", hide: ":", show: ":",
		},
	}
}

// ibverbsCases run the provider ibverbs in the guest, over rdma-core's libraries.
func ibverbsCases() []Case {
	var all []Case
	for _, d := range verbsDevices() {
		add := func(name, what string, limit time.Duration, run func(*T, verbsDevice)) {
			all = append(all, Case{Name: "ibverbs/" + name + "-" + d.kind, Timeout: limit, Run: func(t *T) {
				t.leavesNothing(d)
				run(t, d)
				d.works(t, what)
			}})
		}
		// alone adds a case that changes the device or its files.
		alone := func(name, what string, limit time.Duration, run func(*T, verbsDevice)) {
			all = append(all, Case{Name: "ibverbs/" + name + "-" + d.kind, Timeout: limit, Own: true, Run: func(t *T) {
				run(t, d)
				t.judge()
				d.works(t, what)
			}})
		}
		add("library", "the libraries called by name: attributes, errors, a message", time.Minute, verbsLibrary)
		add("rping", "rping as server and as client", time.Minute, verbsRping)
		add("perftest", "ib_send_bw, ib_write_bw and ib_read_bw of perftest as server and as client", 3*time.Minute,
			func(t *T, d verbsDevice) { verbsPerftest(t, d, "send", "write", "read") })
		add("ratios", "rates and latency as ratios to perftest's", 5*time.Minute, verbsRatios)
		add("rest", "connections without calls pin what the page says", 2*time.Minute, verbsRest)
		add("to-knfsd", "a file of 8 MiB to the kernel's NFS server and back", 2*time.Minute, verbsToKernel)
		add("mount", "programs on a mount of our NFS server", 4*time.Minute, verbsFromKernel)
		add("fsx-to-knfsd", "random operations on the kernel's NFS server", 15*time.Minute, verbsFSXToKernel)
		add("fsx-mount", "random operations on a mount of our NFS server", 15*time.Minute, verbsFSX)
		add("calls", "calls between two ends of ours in versions 1 and 2, with xchar", 2*time.Minute, verbsCalls)
		add("dials", "connections in versions 1 and 2, one after the other", 2*time.Minute, verbsDials)
		add("idle", "a connection without calls", 2*time.Minute, verbsIdle)
		add("silent", "Dial to peers that do not answer ends with its context", 2*time.Minute, verbsSilent)
		add("vanished", "a peer that vanishes", time.Minute, verbsVanished)
		if d.ib {
			alone("syscalls", "system calls counted, with registrations and with windows", 15*time.Minute, verbsSyscalls)
		} else {
			add("to-iwarp", "a file of 8 MiB to our NFS server over the provider iwarp and back", 2*time.Minute, verbsToIWARP)
			add("from-iwarp", "rping and NFS from the provider iwarp", 2*time.Minute, verbsIWARP)
		}
		add("memlock", "64 KiB of RLIMIT_MEMLOCK: the error names the limit", time.Minute, verbsMemlock)
		alone("rights", "no right to open the device: the error names the file", time.Minute, verbsRights)
		alone("removed", "removal of the device during calls", time.Minute, verbsRemoved)
		alone("page", "the commands of docs/ibverbs.md", 5*time.Minute, verbsPage)
		add("selftest", "rpcrdma selftest", 20*time.Minute, verbsSelftest)
	}
	return append(all,
		Case{Name: "ibverbs/two-devices", Timeout: time.Minute, Own: true, Run: verbsTwoDevices},
		Case{Name: "ibverbs/devices", Timeout: time.Minute, Run: verbsDevicesPage},
		Case{Name: "ibverbs/missing", Timeout: time.Minute, Own: true, Run: verbsMissing},
	)
}

// works adds a row to docs/interop.md. A case that fails has no rows.
func (d verbsDevice) works(t *T, what string) {
	t.Report(Finding{What: "the provider ibverbs on " + d.name + ": " + what, Saw: "works"})
}

// judge fails a case that has its own guest for problems in the kernel's log.
func (t *T) judge() {
	for _, p := range guest.JudgeLog(t.KernelLog()) {
		t.blame(p.String())
	}
}

// resources returns how many objects all processes and the kernel have at the device.
func (d verbsDevice) resources(t *T) string { return t.Run("rdma", "resource", "show", d.name) }

// leavesNothing makes the case wait at its end until the device has the objects that it had before.
// It waits because the kernel's NFS server closes a connection some time after its peer.
func (t *T) leavesNothing(d verbsDevice) {
	before := d.resources(t)
	t.Cleanup(func() {
		t.Await("end of the objects of "+d.name+" that the case made: before it "+before, func() bool { return d.resources(t) == before })
	})
}

// test returns a command that runs tests of the provider on the device.
func (d verbsDevice) test(port int, argv ...string) []string {
	env := []string{"env", "RPCRDMA_IBVERBS_DEVICE=" + d.name, fmt.Sprintf("RPCRDMA_IBVERBS_ADDR=%s:%d", d.addr, port)}
	return append(env, argv...)
}

// verbsLibrary calls the libraries without the provider.
func verbsLibrary(t *T, d verbsDevice) {
	out := t.Run(d.test(7180, "lib.test", "-test.v", "-test.run", "Device$", "-test.timeout", "50s")...)
	passed := regexp.MustCompile(`(?m)^--- PASS: (\S+)`).FindAllString(out, -1)
	if !strings.Contains(out, "--- PASS: TestMessageThroughDevice") {
		t.Errorf("no message through the device:\n%s", out)
	}
	t.Say("%d tests of the binding", len(passed))
}
