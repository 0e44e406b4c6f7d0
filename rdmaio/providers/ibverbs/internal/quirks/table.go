package quirks

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
)

// Entry has the quirks of one driver's devices over one transport.
type Entry struct {
	// Driver is the driver's name in libibverbs, which begins the names of its devices: "mlx5" for
	// mlx5_0, whose kernel module is mlx5_core.
	Driver    string
	Transport abi.Transport
	Source    string // how the facts are known
	Quirks    Quirks
}

// Entries returns the table. A driver that supports two transports has two entries.
func Entries() []Entry {
	const (
		ib, iwarp = abi.TransportIB, abi.TransportIWARP
		run       = "seen in Linux 6.1 with rdma-core 44"
		windows   = "rdma-core allocates and binds windows of type 2; the rest comes with the transport"
		noWindows = "rdma-core has no alloc_mw for it; the rest comes with the transport"
		noAlloc   = "it sets the capability bit, and rdma-core has no alloc_mw for it; the rest comes with the transport"
	)
	return []Entry{
		{"siw", iwarp, run, iwarpQuirks(Quirks{
			UnorderedReads: true, NoSolicitedEvent: true, LateCause: true, CauseAfterEnd: true, NoRNR: true, UnreadFirst: true,
			BrittleReply: true, NoEmptyReads: true, KernelTCP: true, RefusedPage: true,
			EmptySGE: true, NoLocalInvalidate: true, UnreportedInvalidate: true, InvalidateInRKey: true,
			DeregLeavesReads: true, MaxUnflushed: 64, NoWindows: true,
		})},
		{"rxe", ib, run, ibQuirks(Quirks{NoErrorEvent: true, InvalidateOnce: true, KernelWithInv: true, GuessableKeys: true, OddStatuses: true, WindowsUnbounded: true})},
		{"mlx5", ib, windows, ibQuirks(Quirks{InvalidateOnce: true})},
		{"mlx4", ib, windows, ibQuirks(Quirks{InvalidateOnce: true})},
		{"irdma", ib, windows, ibQuirks(Quirks{InvalidateOnce: true})},
		{"irdma", iwarp, windows, iwarpQuirks(Quirks{InvalidateOnce: true, SinkNeedsRemoteWrite: true})},
		{"ionic", ib, windows, ibQuirks(Quirks{InvalidateOnce: true})},
		{"bnxt_re", ib, noAlloc, ibQuirks(Quirks{WindowsAbsent: true})},
		{"cxgb4", iwarp, noAlloc, iwarpQuirks(Quirks{WindowsAbsent: true, SinkNeedsRemoteWrite: true})},
		{"hns", ib, "only the kernel can bind its windows; the rest comes with the transport", ibQuirks(Quirks{NoWindows: true})},
		{"erdma", iwarp, noWindows, iwarpQuirks(Quirks{NoWindows: true, SinkNeedsRemoteWrite: true})},
		{"mana", ib, "rdma-core has alloc_mw for it, but no bind; the rest comes with the transport", ibQuirks(Quirks{NoWindows: true})},
		{"qedr", ib, noWindows, ibQuirks(Quirks{NoWindows: true})},
		{"qedr", iwarp, noWindows, iwarpQuirks(Quirks{NoWindows: true, SinkNeedsRemoteWrite: true})},
		{"efa", ib, "its documentation lists the queue pair types SRD and UD only", ibQuirks(Quirks{NoWindows: true, NoConnections: true})},
	}
}

// InvalidateOnce is set for all drivers with windows, because InfiniBand does not promise that an
// invalid window can be invalidated again. The driver rxe then uses the queue pair that an invalid
// window no longer has, and stops the kernel.

// ibQuirks adds the quirks that InfiniBand and RoCE devices share: only windows and regions that
// were registered by a work request can be invalidated, and the connection manager pads private
// data to the size of its messages.
func ibQuirks(q Quirks) Quirks {
	q.PaddedPrivateData, q.LocalInvalidateBreaks, q.RemoteInvalidateBreaks = true, true, true
	return q
}

// iwarpQuirks adds the quirks that iWARP devices share. They come from the connection manager of
// Linux.
func iwarpQuirks(q Quirks) Quirks {
	q.PeersDepths, q.StatusRejects = true, true
	return q
}

// Default returns the quirks of an unknown device: the cautious answer to each question
// that the provider asks, but without windows, since a device that fails to bind one breaks
// connections.
func Default(tr abi.Transport) Quirks {
	q := Quirks{
		UnorderedReads: true, NoSolicitedEvent: true, NoErrorEvent: true, LateCause: true, CauseDelayed: true,
		EmptySGE: true, NoLocalInvalidate: true, InvalidateOnce: true, UnreportedInvalidate: true,
		GuessableKeys: true, DeregLeavesReads: true, MaxUnflushed: 1 << 16, NoWindows: true, WindowsUnbounded: true,
	}
	if tr == abi.TransportIWARP {
		q.NoRNR, q.UnreadFirst, q.NoEmptyReads, q.SinkNeedsRemoteWrite = true, true, true, true
		return iwarpQuirks(q)
	}
	return ibQuirks(q)
}

// For returns the quirks of a driver's devices. driver is the name of a kernel driver, of a
// library or of a device: "mlx5_core", "mlx5" and "mlx5_0" give the same. For a name that the
// table does not have, For returns Default.
func For(driver string, tr abi.Transport) Quirks {
	for _, e := range Entries() {
		if e.Transport == tr && isDriver(driver, e.Driver) {
			return e.Quirks
		}
	}
	return Default(tr)
}

// Known reports whether the table has a driver.
func Known(driver string) bool {
	for _, e := range Entries() {
		if isDriver(driver, e.Driver) {
			return true
		}
	}
	return false
}

// isDriver reports whether a name is a driver's, possibly with a number or a suffix.
func isDriver(name, driver string) bool {
	rest, ok := strings.CutPrefix(name, driver)
	if !ok && driver == "cxgb4" {
		rest, ok = strings.CutPrefix(name, "iw_cxgb4")
	}
	return ok && (rest == "" || rest[0] == '_' || rest[0] >= '0' && rest[0] <= '9')
}

// Status returns the usual status for one that a device of the driver reports. recv says that the
// request was a Receive.
func (q Quirks) Status(s abi.Status, recv bool) abi.Status {
	switch {
	case !q.OddStatuses:
	case recv && s == abi.StatusGeneral:
		return abi.StatusLocLen
	case !recv && s == abi.StatusRemOp:
		return abi.StatusRemInvReq
	}
	return s
}
