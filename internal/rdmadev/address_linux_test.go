package rdmadev

import (
	"maps"
	"net"
	"slices"
	"testing"
)

func TestNetDevsAreFoundInEachWay(t *testing.T) {
	files := maps.Clone(connectX)
	files["sys/class/infiniband/mlx5_0/parent"] = "soft7\n"
	files["sys/class/net/ib3/device/infiniband/mlx5_0/"] = ""
	files["sys/class/net/other/device/infiniband/mlx5_1/"] = ""
	root := tree(t, files)
	devices, err := root.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if got := root.NetDevs(&devices[0]); !slices.Equal(got, []string{"ens1f0", "soft7", "ib3"}) {
		t.Errorf("found %v", got)
	}
}

func TestNetDevOfSoftIWARPIsFoundByItsAddress(t *testing.T) {
	root := tree(t, map[string]string{
		"sys/class/infiniband/siw0/node_type":      "4: RNIC\n",
		"sys/class/infiniband/siw0/ports/1/gids/0": "5254:0012:3456:0000:0000:0000:0000:0000\n",
		"sys/class/net/lo/address":                 "00:00:00:00:00:00\n",
		"sys/class/net/eth0/address":               "52:54:00:12:34:56\n",
		"sys/class/net/eth1/address":               "52:54:00:12:34:57\n",
	})
	devices, err := root.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if got := root.NetDevs(&devices[0]); !slices.Equal(got, []string{"eth0"}) {
		t.Errorf("found %v", got)
	}
}

func TestIPIsTheNetworkDevicesAddress(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	if err != nil || lo.Flags&net.FlagUp == 0 {
		t.Skip("this machine has no loopback device that is up")
	}
	root := tree(t, map[string]string{"sys/class/infiniband/rxe0/node_type": "1: CA", "sys/class/infiniband/rxe0/parent": "lo"})
	devices, err := root.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if ip, ok := root.IP(&devices[0]); !ok || !ip.IsLoopback() {
		t.Errorf("found %v, %v", ip, ok)
	}
	gone := Device{Name: "rxe0", Ports: []Port{{Number: 1, GIDs: []GID{{NetDev: "no-such-device"}}}}}
	if ip, ok := tree(t).IP(&gone); ok {
		t.Errorf("found %v", ip)
	}
}

func TestLoadedLibraryHasItsVersion(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/self/maps":            "7f00-7f01 r-xp 0 00:00 0\n7f02-7f03 r-xp 0 08:01 5    /usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0\n",
		"proc/sys/kernel/osrelease": "6.1.0\n",
	})
	if got := root.LoadedLibrary("libibverbs.so"); got != "libibverbs.so.1.14.44.0" {
		t.Errorf("found %q", got)
	}
	if got := root.LoadedLibrary("librdmacm"); got != "" {
		t.Errorf("found %q", got)
	}
	if got := root.Kernel(); got != "6.1.0" {
		t.Errorf("kernel %q", got)
	}
}
