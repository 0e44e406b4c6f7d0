package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
)

// machine makes a tree of /sys and /dev with a device of RoCE and one whose port is down.
func machine(t *testing.T, remove ...string) rdmadev.Tree {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("RDMA devices are found on Linux only")
	}
	root := t.TempDir()
	for path, content := range map[string]string{
		"sys/class/infiniband/mlx5_0/node_type":                 "1: CA",
		"sys/class/infiniband/mlx5_0/fw_ver":                    "16.35\x1b[31m",
		"sys/class/infiniband/mlx5_0/ports/1/state":             "4: ACTIVE",
		"sys/class/infiniband/mlx5_0/ports/1/phys_state":        "5: LinkUp",
		"sys/class/infiniband/mlx5_0/ports/1/link_layer":        "Ethernet",
		"sys/class/infiniband/mlx5_0/ports/1/rate":              "100 Gb/sec (4X EDR)",
		"sys/class/infiniband/mlx5_0/ports/1/pkeys/0":           "0xffff",
		"sys/class/infiniband/mlx5_0/ports/1/pkeys/1":           "0x8001",
		"sys/class/infiniband/siw0/ports/1/pkeys/0":             "0xffff",
		"sys/class/infiniband/mlx5_0/ports/1/gids/3":            "0000:0000:0000:0000:0000:ffff:c0a8:0105",
		"sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/3": "RoCE v2",
		"sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/3": "ens1",
		"sys/class/infiniband/siw0/node_type":                   "4: RNIC",
		"sys/class/infiniband/siw0/ports/1/state":               "1: DOWN",
		"sys/class/infiniband/siw0/ports/1/link_layer":          "Ethernet",
		"sys/class/infiniband_verbs/uverbs0/ibdev":              "mlx5_0",
		"sys/class/infiniband_verbs/uverbs1/ibdev":              "siw0",
		"dev/infiniband/uverbs0":                                "",
		"dev/infiniband/uverbs1":                                "",
		"dev/infiniband/rdma_cm":                                "",
		"proc/self/status":                                      "VmPin:	8 kB\n",
	} {
		full := filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range remove {
		if err := os.RemoveAll(filepath.Join(root, path)); err != nil {
			t.Fatal(err)
		}
	}
	return rdmadev.At(root)
}

// view is the library's view of that machine.
func view() *libraryView {
	return &libraryView{devices: map[string]libraryDevice{
		"mlx5_0": {
			limits: []limit{{"max_qp", "queue pairs", 262144}, {"max_mw", "memory windows", 16777216}, {"max_mr_size_bytes", "bytes in a region", 1<<64 - 1}}, reads: 16, windows: true, remoteInvalidate: true,
			ports: map[int]libraryPort{1: {activeMTU: 1024, maxMTU: 4096}},
		},
		"siw0": {limits: []limit{{"max_qp", "queue pairs", 102400}}, reads: 128, guessableKeys: true},
	}}
}

func devicesOutput(t *testing.T, json bool, tree rdmadev.Tree, v *libraryView, missing *rdmadev.Problem) (string, int) {
	t.Helper()
	var out buffer
	env := environment{stdout: &out, stderr: &out, json: json}
	code := report(env, listDevices(env, tree, v, missing))
	return out.String(), code
}

func TestDevicesAreListedWithWhatIsMissing(t *testing.T) {
	text, code := devicesOutput(t, false, machine(t), view(), nil)
	for _, want := range []string{
		"mlx5_0: RoCE, driver mlx5, firmware 16.35?[31m\n",
		"  port 1: ACTIVE (LinkUp), Ethernet, 100 Gb/sec (4X EDR), MTU 1024 of 4096\n",
		"    P_Keys 0xffff, 0x8001\n    GID 3   192.168.1.5               RoCE v2  ens1\n",
		"  limits: 262144 queue pairs, 16777216 memory windows, any number of bytes in a region\n",
		"  provider ibverbs: 16 Reads at a time; remote memory by memory windows, without system calls; remote invalidation: yes\n",
		"siw0: iWARP, driver siw\n  port 1: DOWN, Ethernet\n",
		"  provider ibverbs: 128 Reads at a time; remote memory by registration, two system calls a chunk; remote invalidation: no; keys that a peer can guess",
		"missing: port 1 of siw0 is in state DOWN",
		"  try: ip link set NETDEV up, then check the cable\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "P_Keys"); n != 1 {
		t.Errorf("%d lists of P_Keys, want none for the default one over Ethernet:\n%s", n, text)
	}
	if code != exitInput {
		t.Errorf("exit code %d with a port that is down", code)
	}
}

func TestDevicesWithoutTheLibrarySaysSo(t *testing.T) {
	tree := machine(t, "sys/class/infiniband/siw0")
	text, code := devicesOutput(t, false, tree, nil, nil)
	if code != exitDone || !strings.Contains(text, "make build-ibverbs builds") || strings.Contains(text, "limits:") || strings.Contains(text, "missing") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	missing := rdmadev.Library("libibverbs.so.1", "", errors.New("no such file"))
	text, code = devicesOutput(t, false, tree, nil, missing)
	if code != exitInput || !strings.Contains(text, "mlx5_0: RoCE") || !strings.Contains(text, "missing: libibverbs.so.1 of rdma-core cannot be loaded: no such file\n  try: apt install ibverbs-providers") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}

func TestDeviceWithoutProviderLibraryIsNamed(t *testing.T) {
	v := view()
	delete(v.devices, "siw0")
	text, code := devicesOutput(t, false, machine(t), v, nil)
	if code != exitInput || !strings.Contains(text, "missing: device siw0 needs libsiw-rdmavNN.so") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}

func TestMachineWithoutDevicesHasAdvice(t *testing.T) {
	text, code := devicesOutput(t, false, machine(t, "sys/class/infiniband"), nil, nil)
	if code != exitInput || !strings.Contains(text, "found no RDMA device in /sys/class/infiniband") || !strings.Contains(text, "rdma link add rxe0") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}

func TestDevicesJSONHasNamedFields(t *testing.T) {
	text, code := devicesOutput(t, true, machine(t), view(), nil)
	list := objects(t, text)
	if code != exitInput || len(list) < 3 || list[0]["type"] != "device" || list[0]["device"] != "mlx5_0" || list[0]["windows"] != true || list[0]["connections"] != true {
		t.Fatalf("exit code %d:\n%s", code, text)
	}
	port := list[0]["ports"].([]any)[0].(map[string]any)
	if port["active_mtu_bytes"] != 1024. || port["protocol"] != "RoCE" || port["gids"].([]any)[0].(map[string]any)["gid"] != "192.168.1.5" {
		t.Errorf("port %v", port)
	}
	if keys := port["pkeys"].([]any); len(keys) != 2 || keys[1] != "0x8001" {
		t.Errorf("P_Keys %v", keys)
	}
	if limits := list[0]["limits"].(map[string]any); limits["max_qp"] != 262144. {
		t.Errorf("limits %v", limits)
	}
	if last := list[len(list)-1]; last["type"] != "problem" || last["cause"] != "port down" || last["help"] == "" {
		t.Errorf("last line %v", last)
	}
	var check func(o map[string]any)
	check = func(o map[string]any) {
		for field, value := range o {
			if !strings.Contains(helpJSON, field) {
				t.Errorf("the help does not name field %s", field)
			}
			switch v := value.(type) {
			case map[string]any:
				check(v)
			case []any:
				for _, e := range v {
					if o, ok := e.(map[string]any); ok {
						check(o)
					}
				}
			}
		}
	}
	for _, o := range list {
		check(o)
	}
}

func TestLibraryWithoutDevicesMissesEachProviderLibrary(t *testing.T) {
	text, code := devicesOutput(t, false, machine(t), &libraryView{}, nil)
	if code != exitInput || !strings.Contains(text, "needs libmlx5-rdmavNN.so") || !strings.Contains(text, "needs libsiw-rdmavNN.so") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}

// A user without RDMA gets the list of this machine, whatever it has.
func TestDevicesCommandRuns(t *testing.T) {
	code, stdout, stderr := try(t.Context(), "devices")
	if code != exitDone && code != exitInput || stdout == "" || stderr != "" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}
