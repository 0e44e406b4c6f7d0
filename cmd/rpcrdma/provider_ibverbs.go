//go:build ibverbs

package main

import (
	"errors"
	"log/slog"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// withIBVerbs reports whether this build has the provider ibverbs.
const withIBVerbs = true

// openIBVerbs opens an RDMA device, the only one if name is empty.
func openIBVerbs(name string, log *slog.Logger) (verbs.Device, error) {
	return ibverbs.Open(&ibverbs.Config{Device: name, Logger: log})
}

// libraryDevices asks rdma-core for its devices. If it cannot be asked, the problem says why.
func libraryDevices() (*libraryView, *rdmadev.Problem) {
	list, err := ibverbs.Devices()
	var p *rdmadev.Problem
	if errors.As(err, &p) && (p.Cause == rdmadev.NoLibrary || p.Cause == rdmadev.OldLibrary || p.Cause == rdmadev.NotSupported) {
		return nil, p
	}
	// After another error, the list is empty, and listDevices finds the reason.
	v := &libraryView{devices: map[string]libraryDevice{}}
	for _, d := range list {
		v.devices[d.Attributes.Name] = libraryDevice{
			limits: limitsOf(&d), ports: portsOf(&d),
			reads: min(d.Attributes.MaxInitiatorDepth, d.Attributes.MaxResponderResources), windows: d.Windows,
			remoteInvalidate: d.Attributes.RemoteInvalidate, guessableKeys: d.Attributes.GuessableKeys, noConnections: d.NoConnections,
		}
	}
	return v, nil
}

func limitsOf(d *ibverbs.DeviceInfo) []limit {
	l, a := &d.Limits, &d.Attributes
	return []limit{
		{"max_qp", "queue pairs", uint64(l.QueuePairs)}, {"max_qp_wr", "requests in a queue", uint64(l.Requests)},
		{"max_sge", "elements of a request", uint64(a.MaxSendSGE)}, {"max_read_sge", "of a Read", uint64(a.MaxReadSGE)},
		{"max_cq", "completion queues", uint64(l.CompletionQueues)}, {"max_cqe", "entries of each", uint64(l.Completions)},
		{"max_pd", "protection domains", uint64(l.ProtectionDomains)}, {"max_mr", "memory regions", uint64(l.Regions)},
		{"max_mr_size_bytes", "bytes in a region", l.RegionBytes}, {"max_mw", "memory windows", uint64(l.Windows)},
		{"max_message_size_bytes", "bytes in a message", uint64(a.MaxMessageSize)},
	}
}

func portsOf(d *ibverbs.DeviceInfo) map[int]libraryPort {
	ports := map[int]libraryPort{}
	for _, p := range d.Ports {
		ports[p.Number] = libraryPort{activeMTU: p.ActiveMTU, maxMTU: p.MaxMTU}
	}
	return ports
}
