package ibverbs

import (
	"errors"
	"maps"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// goodMachine has everything that a device of the driver rxe needs.
var goodMachine = map[string]string{
	"sys/class/infiniband/rxe0/node_type":                 "1: CA",
	"sys/class/infiniband/rxe0/parent":                    "eth0",
	"sys/class/infiniband/rxe0/ports/1/state":             "4: ACTIVE",
	"sys/class/infiniband/rxe0/ports/1/link_layer":        "Ethernet",
	"sys/class/infiniband_verbs/uverbs0/ibdev":            "rxe0",
	"sys/class/net/eth0/operstate":                        "up",
	"dev/infiniband/uverbs0":                              "",
	"dev/infiniband/rdma_cm":                              "",
	"proc/self/status":                                    "VmPin:\t0 kB\n",
	"sys/class/infiniband/rxe0/ports/1/gids/1":            "0000:0000:0000:0000:0000:ffff:0a00:0001",
	"sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/1": "eth0",
	"sys/class/infiniband/rxe0/ports/1/gid_attrs/types/1": "RoCE v2",
}

// Open names the part of the machine that is missing, and the command that mends it. Each case
// breaks one thing on a machine on which Open succeeds.
func TestOpenNamesThePartThatIsMissing(t *testing.T) {
	fails := func(fn string, errno syscall.Errno) func(*fakelib.Host) {
		return func(h *fakelib.Host) { h.Fail(fn, errno, 0, -1) }
	}
	for _, c := range []struct {
		name    string
		gone    []string // files
		breaks  func(*fakelib.Host)
		devices []fakelib.DeviceOptions
		cfg     Config
		cause   rdmadev.Cause // "" means that Open succeeds
		words   []string
	}{
		{name: "nothing"},
		{name: "no device", gone: []string{"sys/class/infiniband/", "sys/class/infiniband_verbs/"}, devices: []fakelib.DeviceOptions{},
			cause: rdmadev.NoDevice, words: []string{"found no RDMA device", "rdma link add rxe0 type rxe netdev eth0"}},
		{name: "no library for the only device", breaks: fails("rdma_get_devices", syscall.ENODEV),
			cause: rdmadev.NoProviderLibrary, words: []string{"librxe-rdmavNN.so", "apt install ibverbs-providers"}},
		{name: "no library for any device", devices: []fakelib.DeviceOptions{},
			cause: rdmadev.NoProviderLibrary, words: []string{"librxe-rdmavNN.so", "apt install ibverbs-providers"}},
		{name: "the name of another device", cfg: Config{Device: "rxe1"},
			cause: rdmadev.WrongDevice, words: []string{"found no device rxe1, this machine has rxe0"}},
		{name: "module ib_uverbs", gone: []string{"sys/class/infiniband_verbs/"}, breaks: fails("rdma_get_devices", syscall.ENOSYS), devices: []fakelib.DeviceOptions{},
			cause: rdmadev.NoNode, words: []string{"modprobe ib_uverbs"}},
		{name: "device file", gone: []string{"dev/infiniband/uverbs0"}, breaks: fails("rdma_get_devices", syscall.ENODEV),
			cause: rdmadev.NoNode, words: []string{"/dev/infiniband/uverbs0", "docker run --device=/dev/infiniband"}},
		{name: "module rdma_ucm", gone: []string{"dev/infiniband/rdma_cm"}, breaks: fails("rdma_get_devices", syscall.ENODEV),
			cause: rdmadev.NoManager, words: []string{"/dev/infiniband/rdma_cm", "modprobe rdma_ucm"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := maps.Clone(goodMachine)
			for _, gone := range c.gone {
				maps.DeleteFunc(files, func(path, _ string) bool { return len(path) >= len(gone) && path[:len(gone)] == gone })
			}
			net := fakelib.NewNet(fakelib.Options{})
			defer net.Close()
			devices := c.devices
			if devices == nil {
				devices = []fakelib.DeviceOptions{{Name: "rxe0"}}
			}
			h := net.Host(fakelib.HostOptions{}, devices...)
			if c.breaks != nil {
				c.breaks(h)
			}
			d, err := openOn(sysTree(t, files), h, &c.cfg, nil)
			if c.cause == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			expectProblem(t, err, c.cause, c.words...)
		})
	}
}

// What the connection manager reports of a network that does not fit names the setting to compare.
func TestRejectionsNameTheSettingThatDiffers(t *testing.T) {
	infiniband := maps.Clone(goodMachine)
	maps.Copy(infiniband, map[string]string{
		"sys/class/infiniband/fake0/node_type":          "1: CA",
		"sys/class/infiniband/fake0/ports/1/state":      "4: ACTIVE",
		"sys/class/infiniband/fake0/ports/1/link_layer": "InfiniBand",
		"sys/class/infiniband/fake0/ports/1/pkeys/0":    "0x7fff",
	})
	for _, c := range []struct {
		name  string
		event abi.CMEvent
		cause rdmadev.Cause
		words []string
	}{
		{"MTU", abi.CMEvent{Type: abi.CMRejected, Status: 26}, rdmadev.Refused, []string{"path MTU rejected", "same MTU at both ends", "ibv_devinfo -d fake0"}},
		{"GID", abi.CMEvent{Type: abi.CMRejected, Status: 12}, rdmadev.Refused, []string{"GID rejected", "same type of RoCE"}},
		{"P_Key", abi.CMEvent{Type: abi.CMUnreachable, Status: -int32(syscall.ETIMEDOUT)}, rdmadev.NoRoute, []string{"P_Key", "fake0 has [0x7fff]"}},
		{"responder resources", abi.CMEvent{Type: abi.CMRejected, Status: 27}, rdmadev.Refused, []string{"too few responder resources", "smaller limits"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openFake(t, abi.TransportIB, noQuirks, noPings)
			f.c.tree = sysTree(t, infiniband)
			client := newSide(t, f.c, verbs.QPConfig{})
			dialed := make(chan error, 1)
			ln, err := f.s.Listen(t.Context(), "127.0.0.2:0")
			client.must(err)
			defer ln.Close()
			go func() {
				_, err := f.c.Dial(t.Context(), ln.Addr(), client.qp, nil)
				dialed <- err
			}()
			req, err := ln.Accept(t.Context()) // the request is on its way, and gets this answer
			client.must(err)
			client.qp.mu.Lock()
			conn := client.qp.conn
			client.qp.mu.Unlock()
			conn.handle(c.event)
			err = <-dialed
			expectProblem(t, err, c.cause, append(c.words, ln.Addr())...)
			if !errors.Is(err, verbs.ErrConnectionBroken) {
				t.Errorf("%v is not ErrConnectionBroken", err)
			}
			_ = req.Reject(nil) // the peer has gone
		})
	}
}
