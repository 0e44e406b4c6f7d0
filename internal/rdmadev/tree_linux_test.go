package rdmadev

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes a root with files, which map paths to contents. A content "-> PATH" is a link. The
// folders of paths that end in / are made, too.
func tree(t *testing.T, files ...map[string]string) Tree {
	t.Helper()
	root := t.TempDir()
	for _, m := range files {
		for path, content := range m {
			full := filepath.Join(root, path)
			dir := filepath.Dir(full)
			if path[len(path)-1] == '/' {
				dir = full
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			var err error
			switch {
			case dir == full:
			case len(content) > 3 && content[:3] == "-> ":
				err = os.Symlink(content[3:], full)
			default:
				err = os.WriteFile(full, []byte(content), 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return At(root)
}

// connectX is a port of RoCE.
var connectX = map[string]string{
	"sys/bus/pci/drivers/mlx5_core/":                         "",
	"sys/devices/0000:3b:00.0/driver":                        "-> ../../bus/pci/drivers/mlx5_core",
	"sys/class/infiniband/mlx5_0/device":                     "-> ../../../devices/0000:3b:00.0",
	"sys/class/infiniband/mlx5_0/node_type":                  "1: CA\n",
	"sys/class/infiniband/mlx5_0/fw_ver":                     "16.35.4030\n",
	"sys/class/infiniband/mlx5_0/node_guid":                  "9803:9b03:0012:3456\n",
	"sys/class/infiniband/mlx5_0/board_id":                   "MT_0000000012\n",
	"sys/class/infiniband/mlx5_0/ports/1/state":              "4: ACTIVE\n",
	"sys/class/infiniband/mlx5_0/ports/1/phys_state":         "5: LinkUp\n",
	"sys/class/infiniband/mlx5_0/ports/1/link_layer":         "Ethernet\n",
	"sys/class/infiniband/mlx5_0/ports/1/rate":               "100 Gb/sec (4X EDR)\n",
	"sys/class/infiniband/mlx5_0/ports/1/lid":                "0x0\n",
	"sys/class/infiniband/mlx5_0/ports/1/gids/0":             "fe80:0000:0000:0000:9a03:9bff:fe12:3456\n",
	"sys/class/infiniband/mlx5_0/ports/1/gids/1":             "0000:0000:0000:0000:0000:0000:0000:0000\n",
	"sys/class/infiniband/mlx5_0/ports/1/gids/2":             "fe80:0000:0000:0000:9a03:9bff:fe12:3456\n",
	"sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/2":  "RoCE v2\n",
	"sys/class/infiniband/mlx5_0/ports/1/gids/10":            "0000:0000:0000:0000:0000:ffff:c0a8:0105\n",
	"sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0":  "IB/RoCE v1\n",
	"sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/10": "RoCE v2\n",
	"sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0":  "ens1f0\n",
	"sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/10": "ens1f0\n",
	"sys/class/infiniband/mlx5_0/ports/1/pkeys/0":            "0xffff\n",
	"sys/class/infiniband/mlx5_0/ports/1/pkeys/1":            "0x8001\n",
	"sys/class/infiniband/mlx5_0/ports/1/pkeys/2":            "0x0000\n",
	"sys/class/infiniband_verbs/uverbs0/ibdev":               "mlx5_0\n",
	"sys/class/infiniband_verbs/abi_version":                 "6\n",
	"dev/infiniband/uverbs0":                                 "",
	"dev/infiniband/rdma_cm":                                 "",
}

// softIWARP is a device of siw, without a PCI device.
var softIWARP = map[string]string{
	"sys/class/infiniband/siw0/node_type":                 "4: RNIC\n",
	"sys/class/infiniband/siw0/ports/1/state":             "1: DOWN\n",
	"sys/class/infiniband/siw0/ports/1/phys_state":        "3: Disabled\n",
	"sys/class/infiniband/siw0/ports/1/link_layer":        "Ethernet\n",
	"sys/class/infiniband/siw0/ports/1/gids/0":            "0200:0000:0000:0000:0000:0000:0000:0000\n",
	"sys/class/infiniband/siw0/ports/1/gid_attrs/ndevs/0": "eth0\n",
	"sys/class/infiniband_verbs/uverbs1/ibdev":            "siw0\n",
	"dev/infiniband/uverbs1":                              "",
}

func TestDevicesAreReadFromSys(t *testing.T) {
	got, err := tree(t, connectX, softIWARP).Devices()
	if err != nil {
		t.Fatal(err)
	}
	want := []Device{{
		Name: "mlx5_0", Driver: "mlx5", Transport: "InfiniBand", Firmware: "16.35.4030", NodeGUID: "9803:9b03:0012:3456",
		Board: "MT_0000000012", Bus: "0000:3b:00.0", Node: "uverbs0",
		Ports: []Port{{
			Number: 1, State: "ACTIVE", Physical: "LinkUp", Link: "Ethernet", Rate: "100 Gb/sec (4X EDR)", LID: "0x0",
			GIDs: []GID{
				{Index: 0, Value: netip.MustParseAddr("fe80::9a03:9bff:fe12:3456"), Type: "IB/RoCE v1", NetDev: "ens1f0"},
				{Index: 2, Value: netip.MustParseAddr("fe80::9a03:9bff:fe12:3456"), Type: "RoCE v2"},
				{Index: 10, Value: netip.MustParseAddr("::ffff:192.168.1.5"), Type: "RoCE v2", NetDev: "ens1f0"},
			},
			PKeys: []uint16{0xffff, 0x8001},
		}},
	}, {
		Name: "siw0", Driver: "siw", Transport: "iWARP", Node: "uverbs1",
		Ports: []Port{{
			Number: 1, State: "DOWN", Physical: "Disabled", Link: "Ethernet",
			GIDs: []GID{{Index: 0, Value: netip.MustParseAddr("200::"), NetDev: "eth0"}},
		}},
	}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
	if a, b := got[0].Protocol(&got[0].Ports[0]), got[1].Protocol(&got[1].Ports[0]); a != "RoCE" || b != "iWARP" {
		t.Errorf("protocols %s, %s", a, b)
	}
}

func TestSoftRoCEIsKnownByItsParent(t *testing.T) {
	got, err := tree(t, map[string]string{
		"sys/class/infiniband/test_rdma7/node_type": "1: CA\n", "sys/class/infiniband/test_rdma7/parent": "eth0\n",
	}).Devices()
	if err != nil || len(got) != 1 || got[0].Driver != "rxe" {
		t.Errorf("found %+v, %v", got, err)
	}
}

func TestMachineWithoutRDMAHasNoDevices(t *testing.T) {
	if got, err := tree(t).Devices(); len(got) > 0 || err != nil {
		t.Errorf("found %v, %v", got, err)
	}
}

// A file of /sys can fail to be read, have a text of another kernel, or a hostile container's.
func TestOddFilesAreNoFault(t *testing.T) {
	odd := tree(t, map[string]string{
		"sys/class/infiniband/x0/node_type":               "",
		"sys/class/infiniband/x0/ports/one/state":         "4: ACTIVE",
		"sys/class/infiniband/x0/ports/2/gids/-1":         "::1",
		"sys/class/infiniband/x0/ports/2/gids/9999999":    "::1",
		"sys/class/infiniband/x0/ports/2/gids/3":          "not an address",
		"sys/class/infiniband/x0/ports/2/pkeys/0":         "0x10000",
		"sys/class/infiniband/x0/ports/2/state/directory": "",
	})
	got, err := odd.Devices()
	if err != nil || len(got) != 1 || len(got[0].Ports) != 1 || got[0].Driver != "x" {
		t.Fatalf("found %+v, %v", got, err)
	}
	if p := got[0].Ports[0]; p.Number != 2 || p.State != "" || len(p.GIDs) > 0 || len(p.PKeys) > 0 {
		t.Errorf("found %+v", p)
	}
}
