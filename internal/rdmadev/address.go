package rdmadev

import (
	"net"
	"net/netip"
	"os"
)

// NetDevs returns the network devices that belong to a device: those of its GIDs, of the same PCI
// device, and those of a device in software.
func (t Tree) NetDevs(d *Device) []string {
	var list []string
	add := func(name string) {
		for _, have := range list {
			if have == name {
				return
			}
		}
		if name != "" {
			list = append(list, name)
		}
	}
	for i := range d.Ports {
		for _, g := range d.Ports[i].GIDs {
			add(g.NetDev)
		}
	}
	add(t.text(class, d.Name, "parent"))
	if d.Transport == "iWARP" && len(list) == 0 {
		add(t.byAddress(d))
	}
	entries, _ := os.ReadDir(t.path("sys/class/net")) // a machine without a network has none
	for _, e := range entries {
		if _, err := os.Stat(t.path("sys/class/net", e.Name(), "device/infiniband", d.Name)); err == nil {
			add(e.Name())
		}
	}
	return list
}

// byAddress returns the network device whose Ethernet address the GID of an iWARP device begins
// with. Older kernels do not say which network device belongs to such a GID.
func (t Tree) byAddress(d *Device) string {
	entries, _ := os.ReadDir(t.path("sys/class/net")) // a machine without a network has none
	for i := range d.Ports {
		for _, g := range d.Ports[i].GIDs {
			gid := g.Value.As16()
			for _, e := range entries {
				if t.text("sys/class/net", e.Name(), "address") == net.HardwareAddr(gid[:6]).String() {
					return e.Name()
				}
			}
		}
	}
	return ""
}

// IP returns an address of a device's network devices on this machine, IPv4 if there is one.
func (t Tree) IP(d *Device) (netip.Addr, bool) {
	var found netip.Addr
	for _, name := range t.NetDevs(d) {
		dev, err := net.InterfaceByName(name)
		if err != nil {
			continue // it is gone, or in another namespace
		}
		addrs, _ := dev.Addrs() // none of a device that is gone
		for _, a := range addrs {
			prefix, err := netip.ParsePrefix(a.String())
			if err != nil || prefix.Addr().IsLinkLocalUnicast() {
				continue
			}
			if prefix.Addr().Is4() {
				return prefix.Addr(), true
			}
			if !found.IsValid() {
				found = prefix.Addr()
			}
		}
	}
	return found, found.IsValid()
}
