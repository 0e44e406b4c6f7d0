package ibverbs

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// fail returns the error of a call of the library.
func (d *hardware) fail(what string, err error) error {
	return fmt.Errorf("ibverbs: device %s: %w", d.attrs.Name, d.callError(what, err))
}

// callError adds the call, and the error of package verbs if the device is gone.
func (d *hardware) callError(what string, err error) error {
	if d.gone() || errors.Is(err, syscall.ENODEV) {
		return fmt.Errorf("%s: %w: %w", what, err, verbs.ErrDeviceRemoved)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// memoryError returns the error of a call that locks so many bytes of memory.
func (d *hardware) memoryError(what string, size int, err error) error {
	cause := d.tree.Memory(what, uint64(size), err)
	if p := new(rdmadev.Problem); errors.As(cause, &p) {
		return fmt.Errorf("ibverbs: device %s: %w: %w", d.attrs.Name, cause, verbs.ErrProcessLimit)
	}
	return d.fail(what, err)
}

// queuePairError returns the error for a queue pair that cannot be created.
func (d *hardware) queuePairError(attr *abi.QPInitAttr, err error) error {
	sends, recvs := attr.MaxSendWR, attr.MaxRecvWR
	what := fmt.Sprintf("create a queue pair for %d send requests and %d Receives", sends, recvs)
	switch {
	case errors.Is(err, syscall.EOPNOTSUPP):
		return fmt.Errorf("ibverbs: %w: %w", d.tree.NoConnections(d.attrs.Name, err), verbs.ErrNotSupported)
	case errors.Is(err, syscall.EINVAL):
		// A request with more elements takes more space, and the limits are for short requests.
		return fmt.Errorf("ibverbs: device %s: %s, with %d and %d elements: the device refuses the sizes, although its limits are %d requests and %d elements; ask for fewer: %w: %w",
			d.attrs.Name, what, attr.MaxSendSGE, attr.MaxRecvSGE, d.limits.MaxQPWR, d.limits.MaxSGE, err, verbs.ErrTooLarge)
	}
	return d.memoryError(what, 128*sends+32*recvs, err)
}

// sizeError returns the error for a region of more bytes than the device allows. siw has the limit
// of locked memory as its own.
func (d *hardware) sizeError(what string, size int) error {
	if limit, _, ok := d.tree.LockedMemory(); ok && limit == d.limits.MaxMRSize {
		return fmt.Errorf("%w: %w", d.memoryError(what, size, syscall.ENOMEM), verbs.ErrTooLarge)
	}
	return fmt.Errorf("ibverbs: %s, limit is %d: %w", what, d.attrs.MaxMRSize, verbs.ErrTooLarge)
}

// otherDevice returns the error for an address that another device reaches, which has the given
// context, or none.
func (d *hardware) otherDevice(at netip.AddrPort, ctx uintptr) error {
	problem := d.tree.Address("address", at.String(), "", 0, nil)
	if ctx != 0 {
		problem = d.tree.OtherDevice(at.Addr().String(), abi.Device(abi.Context(ctx).Device).Name, d.attrs.Name)
	}
	return fmt.Errorf("%w: %w", problem, verbs.ErrInvalidValue)
}

// unreached returns the error of a step on the way to the peer, unless the device is gone.
func (c *connection) unreached(step string, err error) error {
	d := c.dev
	if d.gone() {
		return d.callError("resolve the "+step, err)
	}
	return d.tree.Address(step, c.peer, d.attrs.Name, c.port, err)
}

// listenError returns the error of a listener that cannot be bound.
func (d *hardware) listenError(at netip.AddrPort, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: %w", err, verbs.ErrAddressInUse)
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.ENODEV):
		return fmt.Errorf("%v is not an address of an RDMA device of this machine: %w: %w", at.Addr(), err, verbs.ErrInvalidValue)
	}
	return d.callError("bind", err)
}

// Reasons of a REJECTED event over InfiniBand (IBTA volume 1, section 12.6.7.2).
const (
	rejectInvalidService = 8
	rejectConsumer       = 28
)

// eventError returns the error of an event that is not the one that was waited for.
func (c *connection) eventError(e abi.CMEvent) error {
	errno := syscall.Errno(max(-e.Status, 0))
	switch e.Type {
	case abi.CMRejected:
		return c.dev.rejected(e, errno, c.peer)
	case abi.CMDisconnected, abi.CMTimewaitExit:
		return verbs.ErrPeerDisconnected
	case abi.CMDeviceRemoval:
		return verbs.ErrDeviceRemoved
	case abi.CMAddrError:
		return c.unreached("address", errno)
	case abi.CMRouteError:
		return c.unreached("route", errno)
	case abi.CMUnreachable:
		return noAnswer(c.unreached("connection", errno))
	}
	return fmt.Errorf("the connection manager reports event %d with status %d: %w", e.Type, e.Status, verbs.ErrConnectionBroken)
}

// connectError returns the error of rdma_connect. siw makes the TCP connection within the call.
func (c *connection) connectError(err error) error {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: %w", verbs.ErrConnectionRefused, err)
	case errors.Is(err, syscall.ETIMEDOUT), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return noAnswer(c.unreached("connection", err))
	}
	return c.dev.callError("connect", err)
}

// noAnswer returns the error of a connection whose peer does not answer.
func noAnswer(err error) error {
	return fmt.Errorf("the peer does not respond: %w: %w: %w", err, verbs.StatusError{Status: verbs.StatusRetryExceeded}, verbs.ErrConnectionBroken)
}

// rejected returns the error of a REJECTED event: of a peer without a listener, or of one that has
// rejected the request. Over iWARP some drivers report both with the same status.
func (d *hardware) rejected(e abi.CMEvent, errno syscall.Errno, addr string) error {
	switch {
	case d.quirks.StatusRejects && errno == syscall.ECONNREFUSED && len(e.PrivateData) == 0:
		return fmt.Errorf("%w: %w", verbs.ErrConnectionRefused, errno)
	case d.quirks.StatusRejects, e.Status == rejectConsumer:
		return &verbs.RejectedError{PrivateData: e.PrivateData}
	case e.Status == rejectInvalidService:
		return verbs.ErrConnectionRefused
	}
	return fmt.Errorf("%w: %w", d.tree.Rejected(addr, d.attrs.Name, int(e.Status)), verbs.ErrConnectionBroken)
}
