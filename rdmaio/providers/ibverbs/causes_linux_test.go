package ibverbs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// expectProblem checks that an error has a cause, advice, and words.
func expectProblem(t *testing.T, err error, cause rdmadev.Cause, words ...string) {
	t.Helper()
	var p *rdmadev.Problem
	if !errors.As(err, &p) || p.Cause != cause || p.Try == "" {
		t.Errorf("found %v, expected %s with advice", err, cause)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not have %q", err, word)
		}
	}
}

// queuePairOf creates a queue pair, and the objects that it needs, until the end of the test.
func queuePairOf(t *testing.T, d *Device) (verbs.QueuePair, error) {
	t.Helper()
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := d.CreateCQ(16, nil)
	if err != nil {
		t.Fatal(err)
	}
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4, MaxSendSGE: 1, MaxRecvSGE: 1})
	t.Cleanup(func() {
		var errs []error
		if qp != nil {
			errs = append(errs, qp.Close())
		}
		if err := errors.Join(append(errs, cq.Close(), pd.Close())...); err != nil {
			t.Error(err)
		}
	})
	return qp, err
}

// twoDevices opens the second device of a host with two, on a network with another host.
func twoDevices(t *testing.T) (second *Device, client *fakelib.Host, server *fakelib.Host) {
	t.Helper()
	net := fakelib.NewNet(fakelib.Options{Misuse: func(s string) { t.Errorf("misuse of the library: %s", s) }})
	t.Cleanup(net.Close)
	client = net.Host(fakelib.HostOptions{}, fakelib.DeviceOptions{Name: "siw0", Transport: abi.TransportIWARP, Quirks: quirks.For("siw", abi.TransportIWARP)},
		fakelib.DeviceOptions{Name: "rxe0", Quirks: quirks.For("rxe", abi.TransportIB)})
	server = net.Host(fakelib.HostOptions{}, fakelib.DeviceOptions{Name: "siw1", Transport: abi.TransportIWARP})
	d, err := open(client, &Config{Device: "rxe0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, client, server
}

func TestDialNamesTheDeviceThatReachesTheAddress(t *testing.T) {
	d, _, server := twoDevices(t)
	qp, err := queuePairOf(t, d)
	if err != nil {
		t.Fatal(err)
	}
	addr := server.Device("siw1").Addr().String()
	_, err = d.Dial(t.Context(), addr+":20049", qp, nil)
	expectProblem(t, err, rdmadev.OtherDevice, addr+" is reached by device siw0, and the open one is rxe0")
	if !errors.Is(err, verbs.ErrInvalidValue) {
		t.Errorf("%v is not ErrInvalidValue", err)
	}
}

func TestDialToAnUnreachedAddressNamesTheRoute(t *testing.T) {
	d, _, _ := twoDevices(t)
	qp, err := queuePairOf(t, d)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Dial(t.Context(), "192.0.2.1:20049", qp, nil)
	expectProblem(t, err, rdmadev.NoRoute, "192.0.2.1:20049", "ip route get 192.0.2.1")
}

func TestEventsOfTheConnectionManagerNameTheReason(t *testing.T) {
	f := openFake(t, abi.TransportIB, quirks.Quirks{}, Config{})
	err := (&connection{dev: f.c, peer: "192.0.2.1:20049", port: 1}).eventError(abi.CMEvent{Type: abi.CMRejected, Status: 26})
	expectProblem(t, err, rdmadev.Refused, "192.0.2.1:20049 rejected the connection: path MTU rejected", "same MTU")
	if !errors.Is(err, verbs.ErrConnectionBroken) {
		t.Errorf("%v is not ErrConnectionBroken", err)
	}
	err = (&connection{dev: f.c, peer: "192.0.2.1:20049", port: 1}).eventError(abi.CMEvent{Type: abi.CMRouteError, Status: -int32(syscall.ETIMEDOUT)})
	expectProblem(t, err, rdmadev.NoRoute, "route of 192.0.2.1:20049")
	if !errors.Is(err, syscall.ETIMEDOUT) {
		t.Errorf("%v has lost the errno", err)
	}
	err = (&connection{dev: f.c, peer: "192.0.2.1:20049", port: 1}).eventError(abi.CMEvent{Type: abi.CMUnreachable, Status: -int32(syscall.ETIMEDOUT)})
	expectProblem(t, err, rdmadev.NoRoute, "connection of 192.0.2.1:20049")
}

func TestPortThatIsDownIsNamed(t *testing.T) {
	f := openFake(t, abi.TransportIB, quirks.Quirks{}, Config{})
	f.c.tree = sysTree(t, map[string]string{
		"sys/class/infiniband/fake0/node_type": "1: CA", "sys/class/infiniband/fake0/ports/1/state": "1: DOWN",
		"sys/class/infiniband/fake0/ports/1/link_layer": "Ethernet", "sys/class/infiniband/fake0/ports/1/gids/0": "fe80::1",
		"sys/class/infiniband/fake0/ports/1/gid_attrs/ndevs/0": "eth7",
	})
	err := (&connection{dev: f.c, peer: "192.0.2.1:20049", port: 1}).eventError(abi.CMEvent{Type: abi.CMAddrError, Status: -int32(syscall.ENODEV)})
	expectProblem(t, err, rdmadev.PortDown, "port 1 of fake0 is in state DOWN", "ip link set eth7 up")
}

func TestDeviceWithoutConnectionsNamesOtherProviders(t *testing.T) {
	f := openFake(t, abi.TransportIB, quirks.Quirks{NoConnections: true}, Config{})
	_, err := queuePairOf(t, f.c)
	expectProblem(t, err, rdmadev.NoConnections, "fake0", "rdmatcp")
	if !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("%v is not ErrNotSupported", err)
	}
}

// setMemlock sets this process's limit of locked memory until the end of the test.
func setMemlock(t *testing.T, limit uint64) {
	t.Helper()
	const memlock = 8 // RLIMIT_MEMLOCK, which package syscall lacks
	var before syscall.Rlimit
	if err := syscall.Getrlimit(memlock, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(memlock, &syscall.Rlimit{Cur: limit, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(memlock, &before); err != nil {
			t.Error(err)
		}
	})
}

// The limit is this process's, and the fake library refuses as the kernel does at that limit.
func TestLockedMemoryLimitIsNamed(t *testing.T) {
	setMemlock(t, 64<<10)
	f := openFake(t, abi.TransportIB, quirks.Quirks{}, Config{})
	pd, err := f.c.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	defer pd.Close()
	f.client.Fail("ibv_reg_mr", syscall.ENOMEM, 0, 1)
	_, err = pd.Alloc(1 << 20)
	expectProblem(t, err, rdmadev.MemoryLimit, "RLIMIT_MEMLOCK is 64 KiB", "ulimit -l unlimited")
	f.client.Fail("ibv_create_cq", syscall.ENOMEM, 0, 1)
	if _, err = queuePairOf(t, f.c); err == nil {
		t.Fatal("a queue pair without a completion queue")
	}
	if !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("%v has lost the errno", err)
	}
}

func TestOpenWithoutADeviceHasAdvice(t *testing.T) {
	if list, _ := rdmadev.System().Devices(); len(list) > 0 {
		t.Skip("this machine has RDMA devices")
	}
	net := fakelib.NewNet(fakelib.Options{})
	defer net.Close()
	_, err := open(net.Host(fakelib.HostOptions{}), nil, nil)
	expectProblem(t, err, rdmadev.NoDevice, "rdma link add")
}

func TestLibraryThatCannotBeLoadedHasAdvice(t *testing.T) {
	cause := errors.New("no such file")
	expectProblem(t, loadProblem(&lib.LoadError{Library: "libibverbs.so.1", Err: cause}), rdmadev.NoLibrary, "libibverbs.so.1", "apt install")
	expectProblem(t, loadProblem(&lib.LoadError{Library: "librdmacm.so.1", Symbol: "rdma_connect", Err: cause}), rdmadev.OldLibrary, "rdma_connect")
	expectProblem(t, loadProblem(errors.ErrUnsupported), rdmadev.NotSupported, "iwarp")
}

func TestDevicesDescribesEachDevice(t *testing.T) {
	_, client, _ := twoDevices(t)
	list, err := devices(client, sysTree(t, map[string]string{"sys/class/infiniband/siw0/node_type": "4: RNIC"}))
	if err != nil || len(list) != 2 {
		t.Fatalf("found %+v, %v", list, err)
	}
	siw, rxe := list[0], list[1]
	if siw.Attributes.Name != "siw0" || siw.Driver != "siw" || siw.Windows || siw.Attributes.RemoteInvalidate || siw.Attributes.GuessableKeys {
		t.Errorf("siw0: %+v", siw)
	}
	if rxe.Attributes.Name != "rxe0" || rxe.Driver != "rxe" || rxe.Windows || rxe.Attributes.RemoteInvalidate || !rxe.Attributes.GuessableKeys || rxe.NoConnections {
		t.Errorf("rxe0: %+v", rxe)
	}
	if len(rxe.Ports) != 1 || rxe.Ports[0].Number != 1 || !rxe.Ports[0].Active || rxe.Ports[0].ActiveMTU < 256 || rxe.Ports[0].MaxMTU < rxe.Ports[0].ActiveMTU {
		t.Errorf("ports of rxe0: %+v", rxe.Ports)
	}
	if l := rxe.Limits; l.QueuePairs <= 0 || l.Requests <= 0 || l.Completions <= 0 || l.Regions <= 0 || l.Windows <= 0 {
		t.Errorf("limits of rxe0: %+v", l)
	}
	if l, usable := rxe.Limits.RegionBytes, rxe.Attributes.MaxMRSize; l != 1<<40-1 || usable != 1<<40-align {
		t.Errorf("longest region on rxe0: %#x, usable %#x; expected the device's limit, and whole slots", l, usable)
	}
}

func TestMTUsAreInBytes(t *testing.T) {
	for mtu, want := range map[int]int{0: 0, 1: 256, 3: 1024, 5: 4096, 6: 0, -1: 0} {
		if got := mtuBytes(mtu); got != want {
			t.Errorf("MTU %d: %d bytes, expected %d", mtu, got, want)
		}
	}
}

// sysTree makes a tree of /sys.
func sysTree(t *testing.T, files map[string]string) rdmadev.Tree {
	t.Helper()
	root := t.TempDir()
	for path, content := range files {
		full := filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return rdmadev.At(root)
}
