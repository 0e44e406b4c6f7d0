package cases

import (
	"errors"
	"strings"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// refused runs a script in the guest that must fail, and checks that its output has all of want.
func (t *T) refused(script string, want ...string) {
	res, err := t.Guest().Shell(t.Context(), script)
	out := res.Stdout + res.Stderr
	t.Logf("guest$ %s\n%s", script, out)
	exit := (*guest.ExitError)(nil)
	if err == nil {
		t.Fatalf("%s: it succeeds: %s", script, out)
	}
	if !errors.As(err, &exit) {
		t.Must(err)
	}
	for _, text := range want {
		if !strings.Contains(out, text) {
			t.Errorf("%s: found %q, expected it to contain %q", script, out, text)
		}
	}
}

// quoted returns a command of the shell.
func quoted(argv []string) string {
	for i, arg := range argv {
		argv[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return strings.Join(argv, " ")
}

// list returns a command that lists the export of the kernel's server over the device.
func (d verbsDevice) list() string {
	return quoted(d.nfs3("ls", nfsRDMA, mountd, d.addr+":/export"))
}

// asNone returns a shell command that runs command as a user without rights.
func asNone(command string) string {
	return "start-stop-daemon -S -c none -x /usr/bin/sh -- -c " + quoted([]string{command})
}

// verbsRemoved removes the device while Calls are in progress. The kernel waits for the program to
// close the device before the removal ends.
func verbsRemoved(t *T, d verbsDevice) {
	program := t.Background(d.verbspeer("removed", d.at(0))...)
	program.Await("calling")
	t.Run("rdma", "link", "del", d.name)
	out, err := program.Wait()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Say("%s", lastLine(out))
}

// verbsMemlock lets the program lock 64 KiB of memory. The error has the limit and the commands
// that raise it.
func verbsMemlock(t *T, d verbsDevice) {
	// The limit does not bind root, except on siw of Linux 6.1.
	command := asNone("ulimit -l 64; " + d.list())
	t.refused(command, "RLIMIT_MEMLOCK is 64 KiB", "ulimit -l")
	t.Say("the error names the limit")
}

// verbsRights runs a program that may not open the device.
func verbsRights(t *T, d verbsDevice) {
	t.Shell(asNone(d.list()))
	t.Shell("chmod 600 /dev/infiniband/*")
	t.Cleanup(func() { t.Shell("chmod 666 /dev/infiniband/*") })
	t.refused(asNone(d.list()), "/dev/infiniband", "permission")
	t.Say("the error names the file")
}

// verbsTwoDevices adds a second device to the network device of siw0. librdmacm picks one of the
// two for an address. The program with that device works, and the other one names both.
func verbsTwoDevices(t *T) {
	const other = "rxe1"
	t.Run("rdma", "link", "add", other, "type", "rxe", "netdev", "eth0")
	works, fails := 0, 0
	for _, name := range []string{"siw0", other} {
		d := verbsDevice{name: name, addr: guest.GuestAddr}
		res, err := t.Guest().Shell(t.Context(), d.list())
		out := res.Stdout + res.Stderr
		t.Logf("%s: %v\n%s", name, err, out)
		switch {
		case err == nil:
			works++
		case strings.Contains(out, "siw0") && strings.Contains(out, other):
			fails++
		default:
			t.Errorf("%s: found %q, expected both devices in it", name, out)
		}
	}
	if works != 1 || fails != 1 {
		t.Errorf("with two devices %d work and %d are refused, expected one of each", works, fails)
	}
	t.Report(Finding{What: "the provider ibverbs with siw0 and rxe1 on one network device", Saw: "librdmacm picks one; opening the other one fails with both names"})
	t.Say("%d works, %d says which device was picked", works, fails)
}

// verbsMissing runs a program without a device, without librdmacm and without libibverbs.
func verbsMissing(t *T) {
	none := verbsDevice{name: "mlx5_0", addr: guest.GuestAddr}
	t.refused(none.list(), "mlx5_0", "siw0", "rxe0")
	for _, library := range []string{"librdmacm.so.1", "libibverbs.so.1"} {
		file := "/usr/lib/x86_64-linux-gnu/" + library
		t.Run("mv", file, file+".away")
		t.Cleanup(func() { t.Run("mv", file+".away", file) })
		t.refused(verbsDevices()[0].list(), library, "rdma-core")
	}
	t.Report(Finding{What: "the provider ibverbs without the device, librdmacm or libibverbs", Saw: "the error names it"})
	t.Say("the errors name the device and the library")
}
