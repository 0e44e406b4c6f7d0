package rdmadev

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// without returns files without some, and with changes.
func without(files map[string]string, change map[string]string, gone ...string) map[string]string {
	m := maps.Clone(files)
	for _, path := range gone {
		delete(m, path)
	}
	maps.Copy(m, change)
	return m
}

// expect checks a problem and that its message has the words.
func expect(t *testing.T, err error, cause Cause, words ...string) {
	t.Helper()
	var p *Problem
	if !errors.As(err, &p) {
		t.Errorf("found %v, expected a problem: %s", err, cause)
		return
	}
	if p.Cause != cause || p.Try == "" {
		t.Errorf("found %q (%s), expected %s with advice", err, p.Cause, cause)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not have %q", err, word)
		}
	}
}

func TestProblemsOfAMachineNameTheCommand(t *testing.T) {
	cause := errors.New("rdma_get_devices: no such device")
	port := "sys/class/infiniband/mlx5_0/"
	noRDMA := map[string]string{"sys/class/net/lo/": "", "sys/class/net/ens5/": ""}
	withNIC := map[string]string{
		"sys/bus/pci/drivers/ice/": "", "sys/devices/0000:01:00.0/driver": "-> ../../bus/pci/drivers/ice",
		"sys/class/net/ens1/device": "-> ../../../devices/0000:01:00.0",
	}
	for _, tt := range []struct {
		name  string
		files []map[string]string
		dev   string
		seen  []string
		cause Cause
		words []string
	}{
		{"software", []map[string]string{noRDMA}, "", nil, NoDevice, []string{"rdma link add rxe0 type rxe netdev ens5", "no such device"}},
		{"module", []map[string]string{noRDMA, withNIC}, "", nil, NoDevice, []string{"modprobe irdma", "ens1"}},
		{"module without device", []map[string]string{withNIC, {"sys/module/irdma/": ""}}, "", nil, NoDevice, []string{"dmesg | grep irdma"}},
		{"name", []map[string]string{connectX}, "mlx5_1", []string{"mlx5_0"}, WrongDevice, []string{"mlx5_1", "this machine has mlx5_0"}},
		{"provider library", []map[string]string{connectX}, "", []string{}, NoProviderLibrary, []string{"libmlx5-rdmavNN.so", "apt install ibverbs-providers"}},
		{"provider library of one", []map[string]string{connectX, softIWARP}, "siw0", []string{"mlx5_0"}, NoProviderLibrary, []string{"siw0", "libsiw-rdmavNN.so"}},
		{"uverbs", []map[string]string{without(connectX, nil, "sys/class/infiniband_verbs/uverbs0/ibdev")}, "", nil, NoNode, []string{"modprobe ib_uverbs"}},
		{"device file", []map[string]string{without(connectX, nil, "dev/infiniband/uverbs0")}, "", nil, NoNode, []string{"/dev/infiniband/uverbs0", "docker run --device=/dev/infiniband"}},
		{"connection manager", []map[string]string{without(connectX, nil, "dev/infiniband/rdma_cm")}, "", []string{"mlx5_0"}, NoManager, []string{"/dev/infiniband/rdma_cm", "modprobe rdma_ucm"}},
		{"connection manager and no list", []map[string]string{without(connectX, nil, "dev/infiniband/rdma_cm")}, "", []string{}, NoManager, []string{"/dev/infiniband/rdma_cm"}},
		{"nothing found", []map[string]string{connectX}, "mlx5_0", []string{"mlx5_0"}, NotSupported, []string{"mlx5_0 cannot be opened", "no such device"}},
		{"sysfs", []map[string]string{{port[:len("sys/class/infiniband")]: "a file"}}, "", nil, NoDevice, []string{"/sys/class/infiniband cannot be read"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tree(t, tt.files...).Unusable(tt.dev, tt.seen, cause)
			expect(t, p, tt.cause, tt.words...)
			if tt.name != "sysfs" && !errors.Is(p, cause) {
				t.Error("the library's error is lost")
			}
		})
	}
}

func TestUsableMachineHasNoProblem(t *testing.T) {
	for _, p := range tree(t, connectX, softIWARP).Missing([]string{"mlx5_0", "siw0"}) {
		t.Error(p)
	}
	if list := tree(t, connectX, softIWARP).Missing([]string{"mlx5_0"}); len(list) != 1 || list[0].Cause != NoProviderLibrary {
		t.Errorf("found %v", list)
	}
}

func TestLibraryProblemsNamePackages(t *testing.T) {
	cause := errors.New("cannot open shared object file")
	p := Library("libibverbs.so.1", "", cause)
	expect(t, p, NoLibrary, "libibverbs.so.1", "apt install ibverbs-providers librdmacm1", "iwarp")
	if !errors.Is(p, cause) {
		t.Error("the loader's error is lost")
	}
	expect(t, Library("librdmacm.so.1", "rdma_connect", cause), OldLibrary, "rdma_connect", "newer rdma-core")
}

// A thread of root that acts as another user for files is refused as that user is.
func TestPermissionNamesModeAndGroup(t *testing.T) {
	root := tree(t, connectX)
	node := root.path("dev/infiniband/uverbs0")
	if err := os.Chmod(node, 0o660); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		if err := os.Chmod(node, 0); err != nil {
			t.Fatal(err)
		}
	} else {
		for _, dir := range []string{root.root, filepath.Dir(root.root)} {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		const group = 61234 // not in use on any machine
		if err := os.Chown(node, 0, group); err != nil {
			t.Fatal(err)
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		// setfsuid returns the old user, never an error.
		setUser := func(id uintptr) { _, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, id, 0, 0) }
		setUser(group)
		defer setUser(0)
	}
	if f, err := os.OpenFile(node, os.O_RDWR, 0); err == nil {
		f.Close()
		t.Skip("this system lets every user open the file")
	} else if !errors.Is(err, os.ErrPermission) {
		t.Fatal(err)
	}
	p := root.Unusable("", nil, nil)
	expect(t, p, NoPermission, "/dev/infiniband/uverbs0", "mode ", "docker run --device=/dev/infiniband")
	if os.Geteuid() == 0 {
		expect(t, p, NoPermission, "-rw-rw----", "group 61234", "usermod -a -G 61234")
	}
	if !errors.Is(p, os.ErrPermission) {
		t.Errorf("%v is no error of permissions", p)
	}
}

func TestMemoryLimitIsNamed(t *testing.T) {
	const limit = 64 << 10
	page := uint64(os.Getpagesize())
	var before syscall.Rlimit
	if err := syscall.Getrlimit(rlimitMemlock, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(rlimitMemlock, &syscall.Rlimit{Cur: limit, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(rlimitMemlock, &before); err != nil {
			t.Error(err)
		}
	}()
	root := tree(t, map[string]string{"proc/self/status": "VmPeak:	1 kB\nVmPin:	      16 kB\nVmRSS:	5 kB\n"})
	enomem := os.NewSyscallError("ibv_reg_mr", syscall.ENOMEM)
	err := root.Memory("register memory", 1<<20, enomem)
	expect(t, err, MemoryLimit, "register memory: 1 MiB", "RLIMIT_MEMLOCK is 64 KiB", "16 KiB are in use",
		"ulimit -l unlimited", "LimitMEMLOCK=infinity", "--ulimit memlock=-1", "Kubernetes")
	if !errors.Is(err, syscall.ENOMEM) {
		t.Error("the errno is lost")
	}
	expect(t, root.Memory("create a queue", 0, enomem), MemoryLimit, "create a queue: memory exceeds")
	fits := limit - 16<<10 - page
	if err := root.Memory("register memory", fits, enomem); err != enomem {
		t.Errorf("memory that fits: %v", err)
	}
	expect(t, root.Memory("register memory", fits+1, enomem), MemoryLimit)
	other := os.NewSyscallError("ibv_reg_mr", syscall.EINVAL)
	if err := root.Memory("register memory", 1<<20, other); err != other {
		t.Errorf("another errno: %v", err)
	}
	if err := memoryProblem("register memory", 1<<20, Unlimited, 0, true, enomem); err != enomem {
		t.Errorf("without a limit: %v", err)
	}
}

func TestConnectionProblemsNameTheWay(t *testing.T) {
	const dir = "sys/class/infiniband/mlx5_0/"
	state, link := dir+"ports/1/state", dir+"ports/1/link_layer"
	root := tree(t, connectX, softIWARP)
	cause := errors.New("RDMA_CM_EVENT_ADDR_ERROR: no route to host")
	at := func(change map[string]string, gone ...string) Tree {
		return tree(t, without(connectX, change, gone...))
	}
	for name, tt := range map[string]struct {
		err   error
		cause Cause
		words []string
	}{
		"other device": {root.OtherDevice("10.0.0.9", "siw0", "mlx5_0"), OtherDevice, []string{"10.0.0.9 is reached by device siw0", "open one is mlx5_0"}},
		"efa": {tree(t, map[string]string{
			"sys/class/infiniband/efa_0/node_type": "7: unspecified", "sys/bus/pci/drivers/efa/": "", "sys/devices/p/driver": "-> ../../bus/pci/drivers/efa",
			"sys/class/infiniband/efa_0/device": "-> ../../../devices/p",
		}).NoConnections("efa_0", syscall.EOPNOTSUPP), NoConnections, []string{"efa_0 (driver efa)", "rdmatcp"}},
		"down":           {root.Address("address", "10.0.0.9:20049", "siw0", 1, cause), PortDown, []string{"address of 10.0.0.9:20049", "siw0 is in state DOWN", "Disabled", "ip link set eth0 up"}},
		"no address":     {at(nil, dir+"ports/1/gids/10").Address("route", "h", "mlx5_0", 0, cause), NoGID, []string{"ip addr add ADDRESS/PREFIX dev ens1f0"}},
		"no way":         {root.Address("route", "[fd00::1]:20049", "mlx5_0", 1, cause), NoRoute, []string{"ip route get fd00::1", "mlx5_0 does not reach it"}},
		"unknown device": {root.Address("address", "10.0.0.9:1", "", 0, cause), NoRoute, []string{"no RDMA device reaches it"}},
		"subnet manager": {at(map[string]string{state: "2: INIT", link: "InfiniBand"}).Port("mlx5_0", 1), PortDown, []string{"opensm"}},
		"cable":          {at(map[string]string{state: "1: DOWN", link: "InfiniBand"}).Port("mlx5_0", 1), PortDown, []string{"ibstat mlx5_0"}},
		"MTU":            {root.Rejected("h:1", "mlx5_0", 26), Refused, []string{"path MTU rejected", "reason 26", "ip link show"}},
		"partition":      {at(map[string]string{link: "InfiniBand"}).Address("connection", "h:1", "mlx5_0", 1, cause), NoRoute, []string{"P_Key", "mlx5_0 has [0xffff 0x8001]"}},
		"GID":            {root.Rejected("h:1", "mlx5_0", 12), Refused, []string{"GID rejected"}},
		"service":        {root.Rejected("h:1", "mlx5_0", 8), Refused, []string{"no service at the port", "start the service at h:1"}},
		"unknown reason": {root.Rejected("h:1", "mlx5_0", 1000), Refused, []string{"reason 1000"}},
		"retries":        {root.RetriesExceeded("h:1", "mlx5_0", 1), NoAnswer, []string{"ping -M do"}},
		"retries, down":  {root.RetriesExceeded("h:1", "siw0", 1), PortDown, []string{"ip link set eth0 up"}},
	} {
		t.Run(name, func(t *testing.T) { expect(t, tt.err, tt.cause, tt.words...) })
	}
	if err := root.Address("address", "10.0.0.9:20049", "siw0", 1, cause); !errors.Is(err, cause) {
		t.Error("the library's error is lost")
	}
}

func TestGoodPortHasNoProblem(t *testing.T) {
	root := tree(t, connectX)
	if p := root.Port("mlx5_0", 1); p != nil {
		t.Error(p)
	}
}
