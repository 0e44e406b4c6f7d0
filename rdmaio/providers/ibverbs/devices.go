package ibverbs

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// DeviceInfo describes a device of this machine.
type DeviceInfo struct {
	// Attributes are the attributes of the device as Open gives them without a Config.
	Attributes verbs.DeviceAttributes

	Driver   string // the name that rdma-core has for it: "mlx5"
	Firmware string
	Limits   DeviceLimits
	Ports    []PortInfo

	// Windows reports whether memory is offered to a peer by memory windows, without a system call.
	// If false, it is registered for each chunk.
	Windows bool

	// NoConnections reports whether the device has no reliable connections. Then it cannot be used.
	NoConnections bool
}

// DeviceLimits are limits of a device that are shared by all programs that use it.
type DeviceLimits struct {
	QueuePairs, Requests          int // Requests are those in a queue
	CompletionQueues, Completions int // Completions are the entries of a queue
	ProtectionDomains             int
	Regions, Windows              int
	RegionBytes                   uint64 // the provider registers Attributes.MaxMRSize at most
}

// PortInfo describes a port of a device.
type PortInfo struct {
	Number            int
	Active            bool
	ActiveMTU, MaxMTU int // in bytes; 0 if the library does not say
}

// Devices returns the devices that the library has. A device that does not answer is left out.
func Devices() ([]DeviceInfo, error) {
	l, err := lib.Open()
	if err != nil {
		return nil, fmt.Errorf("ibverbs: %w", loadProblem(err))
	}
	return devices(l, rdmadev.System())
}

func devices(l lib.Lib, tree rdmadev.Tree) ([]DeviceInfo, error) {
	all, err := l.Devices()
	if err != nil {
		return nil, fmt.Errorf("ibverbs: list the devices: %w", tree.Unusable("", []string{}, err))
	}
	var list []DeviceInfo
	for _, ctx := range all {
		var d hardware
		d.identify(l, ctx, tree)
		if err := d.query(); err != nil {
			continue
		}
		a := &d.limits
		info := DeviceInfo{
			Attributes: d.attrs, Driver: d.driver, Firmware: a.Firmware,
			Limits: DeviceLimits{
				QueuePairs: a.MaxQP, Requests: a.MaxQPWR, CompletionQueues: a.MaxCQ, Completions: a.MaxCQE,
				ProtectionDomains: a.MaxPD, Regions: a.MaxMR, Windows: a.MaxMW,
				RegionBytes: a.MaxMRSize,
			},
			Windows: d.windows, NoConnections: d.quirks.NoConnections,
		}
		for port := 1; port <= a.Ports; port++ {
			if p, err := l.QueryPort(ctx, port); err == nil {
				info.Ports = append(info.Ports, PortInfo{
					Number: port, Active: p.State == abi.PortActive, ActiveMTU: mtuBytes(p.ActiveMTU), MaxMTU: mtuBytes(p.MaxMTU),
				})
			}
		}
		list = append(list, info)
	}
	return list, nil
}

// mtuBytes returns an ibv_mtu in bytes, or 0 if mtu is not a value of that enum.
func mtuBytes(mtu int) int {
	if mtu < 1 || mtu > 5 {
		return 0
	}
	return 128 << mtu
}
