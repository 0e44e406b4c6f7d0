package rdmadev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Library explains why a library of rdma-core could not be used: it is missing, or has no function
// symbol.
func Library(name, symbol string, cause error) *Problem {
	if symbol != "" {
		return problem(OldLibrary, cause, "install a newer rdma-core", "%s has no function %s", name, symbol)
	}
	return problem(NoLibrary, cause,
		"apt install ibverbs-providers librdmacm1 (dnf install libibverbs librdmacm on Fedora and RHEL), or the provider iwarp, which needs neither",
		"%s of rdma-core cannot be loaded", name)
}

// Unusable explains why a device cannot be opened. device is the name that was asked for, or "".
// seen are the devices that the library has, and cause is its error; both may be empty.
func (t Tree) Unusable(device string, seen []string, cause error) *Problem {
	if list := t.problems(device, seen, cause); len(list) > 0 {
		return list[0]
	}
	if device == "" {
		device = "an RDMA device"
	}
	return problem(NotSupported, cause, "rpcrdma devices, and dmesg for the kernel's reason", "%s cannot be opened", device)
}

// Missing returns everything that keeps devices of this machine from being used, the first one
// first. seen are the devices that the library has; nil means that it was not asked.
func (t Tree) Missing(seen []string) []*Problem { return t.problems("", seen, nil) }

func (t Tree) problems(device string, seen []string, cause error) []*Problem {
	devices, err := t.Devices()
	switch {
	case err != nil:
		return []*Problem{problem(NoDevice, err, "mount -t sysfs sysfs /sys", "/%s cannot be read", class)}
	case len(devices) == 0:
		return []*Problem{t.noDevice(cause)}
	}
	if device != "" {
		i := slices.IndexFunc(devices, func(d Device) bool { return d.Name == device })
		if i < 0 {
			return []*Problem{problem(WrongDevice, cause, "one of these names", "found no device %s, this machine has %s", device, names(devices))}
		}
		devices = devices[i : i+1]
	}
	var list []*Problem
	manager := t.manager(cause)
	// Without the connection manager's file, the library lists no device at all.
	listed := seen != nil && (len(seen) > 0 || manager == nil)
	for i := range devices {
		d := &devices[i]
		p := t.node(d.Name, d.Node, cause)
		if p == nil && listed && !slices.Contains(seen, d.Name) {
			p = problem(NoProviderLibrary, cause, "apt install ibverbs-providers (dnf install libibverbs)",
				"device %s needs lib%s-rdmavNN.so, the library of rdma-core for its driver %s, which is not installed or too old", d.Name, d.Driver, d.Driver)
		}
		if p != nil {
			list = append(list, p)
		}
	}
	if manager != nil {
		list = append(list, manager)
	}
	return list
}

func names(devices []Device) string {
	var list []string
	for _, d := range devices {
		list = append(list, d.Name)
	}
	return strings.Join(list, ", ")
}

// noDevice looks for a network device whose driver has a module for RDMA.
func (t Tree) noDevice(cause error) *Problem {
	const text = "found no RDMA device in /" + class
	first := ""
	entries, _ := os.ReadDir(t.path("sys/class/net")) // a machine without a network has none
	for _, e := range entries {
		link, err := os.Readlink(t.path("sys/class/net", e.Name(), "device", "driver"))
		module := modules[filepath.Base(link)]
		if err == nil && module != "" {
			try := "modprobe " + module
			if _, err := os.Stat(t.path("sys/module", module)); err == nil {
				try = "dmesg | grep " + module + ": the module is loaded, and made no device"
			}
			return problem(NoDevice, cause, try, text+"; %s is a network device whose driver %s has RDMA by the module %s", e.Name(), filepath.Base(link), module)
		}
		if first == "" && e.Name() != "lo" {
			first = e.Name()
		}
	}
	if first == "" {
		first = "eth0"
	}
	return problem(NoDevice, cause,
		fmt.Sprintf("modprobe rdma_rxe && rdma link add rxe0 type rxe netdev %s (RoCE in software, for tests; siw is the same for iWARP)", first), text)
}

// node explains why the file of a device cannot be opened, or returns nil.
func (t Tree) node(device, node string, cause error) *Problem {
	if node == "" {
		return problem(NoNode, cause, "modprobe ib_uverbs", "device %s has no file for user programs: /%s has no entry for it", device, uverbs)
	}
	return t.open("/"+nodes+"/"+node, cause, "modprobe ib_uverbs", NoNode)
}

// manager explains why the file of the connection manager cannot be opened, or returns nil.
func (t Tree) manager(cause error) *Problem {
	return t.open("/"+nodes+"/rdma_cm", cause, "modprobe rdma_ucm", NoManager)
}

// open opens a device file for reading and writing, and closes it: a container can lack the right
// to open a file whose mode allows it.
func (t Tree) open(path string, cause error, load string, missing Cause) *Problem {
	f, err := os.OpenFile(t.path(path), os.O_RDWR, 0)
	switch {
	case err == nil:
		_ = f.Close() // nothing was written
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return problem(missing, reason(cause, err), load+"; in a container, pass the device files: docker run --device=/dev/infiniband", "found no %s", path)
	case errors.Is(err, fs.ErrPermission):
		return problem(NoPermission, reason(cause, err), t.allow(path), "%s may not be opened: it has %s", path, t.owner(path))
	}
	return problem(missing, reason(cause, err), "dmesg, for the kernel's reason", "%s cannot be opened", path)
}

// reason returns the library's error, or the system's if there is none.
func reason(cause, err error) error {
	if cause != nil {
		return cause
	}
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// allow returns the way to the right to open a file.
func (t Tree) allow(path string) string {
	if group := t.group(path); group != "" {
		return fmt.Sprintf("usermod -a -G %s $USER and a new login; in a container, docker run --device=/dev/infiniband", group)
	}
	return fmt.Sprintf("chmod 0666 %s, or udev's rules of rdma-core (apt install rdma-core); in a container, docker run --device=/dev/infiniband", path)
}

// Unsupported explains that the provider does not run on this system.
func Unsupported(cause error) *Problem {
	return problem(NotSupported, cause, "the provider iwarp or rdmatcp, which run on every system", "RDMA devices cannot be used")
}
