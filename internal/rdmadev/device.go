package rdmadev

import (
	"net/netip"
	"strings"
)

// Device is an RDMA device as /sys describes it. A text that the kernel does not say is empty.
type Device struct {
	Name      string // "mlx5_0"
	Driver    string // the name that rdma-core has for it: "mlx5", "irdma", "siw"
	Transport string // "InfiniBand", which RoCE is too, "iWARP", or what the kernel calls the node
	Firmware  string
	NodeGUID  string
	Board     string
	Bus       string // the address of the PCI device; empty for a device in software
	Node      string // the file below /dev/infiniband: "uverbs0"
	Ports     []Port
}

// Port is a port of a device.
type Port struct {
	Number   int
	State    string // "ACTIVE", "DOWN", "INIT"
	Physical string // "LinkUp", "Disabled"
	Link     string // the link layer: "Ethernet", "InfiniBand"
	Rate     string // "100 Gb/sec (4X EDR)"
	LID      string
	GIDs     []GID
	PKeys    []uint16 // by index; 0 means an unused entry
}

// GID is an address of a port.
type GID struct {
	Index  int
	Value  netip.Addr
	Type   string // "IB/RoCE v1", "RoCE v2"
	NetDev string // "eth0"; empty over InfiniBand
}

// Active reports whether the port can carry data.
func (p *Port) Active() bool { return p.State == "ACTIVE" }

// RoCE reports whether a device runs InfiniBand's protocol over the port's Ethernet.
func (d *Device) RoCE(p *Port) bool { return d.Transport == "InfiniBand" && p.Link == "Ethernet" }

// Protocol names the protocol of a port: "InfiniBand", "RoCE" or "iWARP".
func (d *Device) Protocol(p *Port) string {
	if d.RoCE(p) {
		return "RoCE"
	}
	return d.Transport
}

// NetDev returns the network device of a port, or "".
func (p *Port) NetDev() string {
	for _, g := range p.GIDs {
		if g.NetDev != "" {
			return g.NetDev
		}
	}
	return ""
}

// drivers maps the drivers of PCI devices to the names that rdma-core has for them.
var drivers = map[string]string{
	"mlx5_core": "mlx5", "mlx4_core": "mlx4", "ice": "irdma", "i40e": "irdma", "idpf": "irdma", "bnxt_en": "bnxt_re",
	"hns3": "hns", "cxgb4": "cxgb4", "qede": "qedr", "qed": "qedr", "efa": "efa", "erdma": "erdma", "mana": "mana",
	"ionic": "ionic", "vmw_pvrdma": "vmw_pvrdma", "hfi1": "hfi1verbs", "ib_mthca": "mthca", "ocrdma": "ocrdma",
}

// modules maps the drivers of network devices to the kernel modules that add RDMA to them.
var modules = map[string]string{
	"mlx5_core": "mlx5_ib", "mlx4_core": "mlx4_ib", "ice": "irdma", "i40e": "irdma", "idpf": "irdma", "bnxt_en": "bnxt_re",
	"hns3": "hns_roce_hw_v2", "cxgb4": "iw_cxgb4", "qede": "qedr", "mana": "mana_ib", "ionic": "ionic_rdma",
}

// driverOf returns rdma-core's name for the driver of a device. parent says whether the device has
// the file of that name, as rxe has.
func driverOf(name, pci string, parent bool, transport string) string {
	switch {
	case pci != "":
		if driver, ok := drivers[pci]; ok {
			return driver
		}
		return pci
	case parent:
		return "rxe"
	case transport == "iWARP":
		return "siw"
	}
	return strings.TrimRight(strings.TrimRight(name, "0123456789"), "_")
}
