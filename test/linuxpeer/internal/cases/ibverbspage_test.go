package cases

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs/page"
)

// The case runs the commands that the page has, and no others. A command in a block of another
// kind cannot run in the guest.
func TestCommandsOfVerbsPageAreThoseOfTheCase(t *testing.T) {
	root, err := page.Root()
	if err != nil {
		t.Fatal(err)
	}
	commands, err := page.Lines(root, verbsPageFile, "console")
	if err != nil {
		t.Fatal(err)
	}
	for command := range verbsPageSteps {
		if !slices.Contains(commands, command) {
			t.Errorf("the page does not have the command %q", command)
		}
	}
	for _, command := range commands {
		if _, ok := verbsPageSteps[command]; !ok && command != "make build-ibverbs" {
			t.Errorf("the case does not run the command %q", command)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(verbsPageFile)))
	if err != nil {
		t.Fatal(err)
	}
	if left := outsideConsole(string(text)); len(left) > 0 {
		t.Errorf("blocks that do not run have %q", left)
	}
	if left := outsideConsole("    apt install x\n    rdma system\n    dev, err := x\n    rxe0: RoCE\nrdma system\n"); len(left) != 1 || left[0] != "rdma system" {
		t.Errorf("commands that could run: %q", left)
	}
}

// A command of the page uses the device and the addresses of the guest.
func TestCommandOfVerbsPageForDeviceOfGuest(t *testing.T) {
	d := verbsDevices()[1]
	for command := range verbsPageSteps {
		here := d.here(command)
		if strings.Contains(here, "192.168.1.") || strings.Contains(here, "mlx5_0") || strings.Contains(here, "eth1") || strings.Contains(here, "rdma 20049") {
			t.Errorf("%s: found %s", command, here)
		}
	}
	if got, want := d.here("modprobe siw && rdma link add siw0 type siw netdev eth1"), "modprobe siw && rdma link add siw0 type siw netdev eth0"; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
}
