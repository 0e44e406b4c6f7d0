package rdmadev

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Tree is a root of /sys, /dev and /proc.
type Tree struct{ root string }

// System returns the tree of this machine.
func System() Tree { return Tree{"/"} }

// At returns the tree below a folder, for tests.
func At(root string) Tree { return Tree{root} }

func (t Tree) path(elem ...string) string {
	return filepath.Join(append([]string{t.root}, elem...)...)
}

const (
	class  = "sys/class/infiniband"
	uverbs = "sys/class/infiniband_verbs"
	nodes  = "dev/infiniband"
)

// maxEntries bounds the tables of GIDs and P_Keys that are read. Devices have at most 1,024 GIDs
// for a port.
const maxEntries = 4096

// Devices returns the devices, sorted by name. Without any, or without /sys, there are none.
func (t Tree) Devices() ([]Device, error) {
	entries, err := os.ReadDir(t.path(class))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	byDevice := t.uverbsNodes()
	var list []Device
	for _, e := range entries {
		d := t.device(e.Name())
		d.Node = byDevice[d.Name]
		list = append(list, d)
	}
	return list, nil
}

// Driver returns rdma-core's name for the driver of a device. Where /sys does not have the device,
// it is the device's name without the number.
func (t Tree) Driver(device string) string {
	return t.device(device).Driver
}

// uverbsNodes returns the files below /dev/infiniband by device.
func (t Tree) uverbsNodes() map[string]string {
	m := map[string]string{}
	entries, _ := os.ReadDir(t.path(uverbs)) // without the module, no device has a file
	for _, e := range entries {
		if name := t.text(uverbs, e.Name(), "ibdev"); name != "" {
			m[name] = e.Name()
		}
	}
	return m
}

// text returns the content of a file, without the space around it; "" if it cannot be read.
func (t Tree) text(elem ...string) string {
	b, err := os.ReadFile(t.path(elem...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// after returns the part of a text of /sys behind its number: "ACTIVE" of "4: ACTIVE".
func after(s string) string {
	if _, word, ok := strings.Cut(s, ": "); ok {
		return word
	}
	return s
}

func (t Tree) device(name string) Device {
	d := Device{
		Name: name, Firmware: t.text(class, name, "fw_ver"), NodeGUID: t.text(class, name, "node_guid"), Board: t.text(class, name, "board_id"),
	}
	switch kind := after(t.text(class, name, "node_type")); kind {
	case "CA":
		d.Transport = "InfiniBand"
	case "RNIC":
		d.Transport = "iWARP"
	default:
		d.Transport = kind
	}
	pci := ""
	if link, err := os.Readlink(t.path(class, name, "device")); err == nil {
		d.Bus = filepath.Base(link)
		if driver, err := os.Readlink(t.path(class, name, "device", "driver")); err == nil {
			pci = filepath.Base(driver)
		}
	}
	d.Driver = driverOf(name, pci, t.text(class, name, "parent") != "", d.Transport)
	entries, _ := os.ReadDir(t.path(class, name, "ports")) // a device may have none
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			d.Ports = append(d.Ports, t.port(name, n))
		}
	}
	slices.SortFunc(d.Ports, func(a, b Port) int { return a.Number - b.Number })
	return d
}

func (t Tree) port(device string, n int) Port {
	dir := filepath.Join(class, device, "ports", strconv.Itoa(n))
	p := Port{
		Number: n, State: after(t.text(dir, "state")), Physical: after(t.text(dir, "phys_state")),
		Link: t.text(dir, "link_layer"), Rate: t.text(dir, "rate"), LID: t.text(dir, "lid"),
	}
	for _, i := range t.numbers(dir, "gids") {
		index := strconv.Itoa(i)
		value, err := netip.ParseAddr(t.text(dir, "gids", index))
		if err != nil || value.IsUnspecified() { // an unused entry
			continue
		}
		p.GIDs = append(p.GIDs, GID{
			Index: i, Value: value, Type: t.text(dir, "gid_attrs", "types", index), NetDev: t.text(dir, "gid_attrs", "ndevs", index),
		})
	}
	for _, i := range t.numbers(dir, "pkeys") {
		key, err := strconv.ParseUint(t.text(dir, "pkeys", strconv.Itoa(i)), 0, 16)
		if err != nil {
			break
		}
		p.PKeys = append(p.PKeys, uint16(key))
	}
	for len(p.PKeys) > 1 && p.PKeys[len(p.PKeys)-1] == 0 {
		p.PKeys = p.PKeys[:len(p.PKeys)-1]
	}
	return p
}

// numbers returns the names of a folder's files that are numbers, sorted.
func (t Tree) numbers(elem ...string) []int {
	entries, _ := os.ReadDir(t.path(elem...)) // an absent table has no entry
	var list []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n >= 0 && n < maxEntries {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// Kernel returns the release of the kernel, or "".
func (t Tree) Kernel() string { return t.text("proc/sys/kernel/osrelease") }

// LoadedLibrary returns the file name of a library that this process has loaded, with its version,
// or "". prefix is the begin of its name.
func (t Tree) LoadedLibrary(prefix string) string {
	for line := range strings.Lines(t.text("proc/self/maps")) {
		if i := strings.IndexByte(line, '/'); i >= 0 {
			if name := filepath.Base(strings.TrimSpace(line[i:])); strings.HasPrefix(name, prefix) {
				return name
			}
		}
	}
	return ""
}
