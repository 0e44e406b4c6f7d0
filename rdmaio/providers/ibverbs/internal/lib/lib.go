// Package lib calls libibverbs and librdmacm, which it loads when the program runs: the program is
// built without cgo, and on a machine without the libraries it still starts.
package lib

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
)

// Handles of objects. Each is the address of the library's structure, whose fields package abi
// reads.
type (
	Context      uintptr // ibv_context
	PD           uintptr // ibv_pd
	MR           uintptr // ibv_mr
	MW           uintptr // ibv_mw
	CompChannel  uintptr // ibv_comp_channel
	CQ           uintptr // ibv_cq
	QP           uintptr // ibv_qp
	EventChannel uintptr // rdma_event_channel
	ID           uintptr // rdma_cm_id
	CMEvent      uintptr // rdma_cm_event
)

// Lib is the part of libibverbs and librdmacm that the provider uses. The methods may be called
// concurrently, as far as the library allows that for its functions: all of them for different
// objects, and all but those that destroy an object for one.
//
// Errors wrap a syscall.Errno, in an *os.SyscallError with the name of the library's function, but
// for those of CQEvent, AsyncEvent, GetCMEvent and the posts: these are the number itself, and are
// returned without an allocation. Memory of which a method takes the address is not of the Go heap.
type Lib interface {
	// Devices returns the open devices (rdma_get_devices). All later calls return the same ones:
	// the library opens each once, and a second rdma_get_devices may find none.
	Devices() ([]Context, error)

	QueryDevice(Context) (abi.DeviceAttr, error)
	QueryPort(ctx Context, port int) (abi.PortAttr, error)
	QueryGID(ctx Context, port, index int) ([16]byte, error)

	AllocPD(Context) (PD, error)
	DeallocPD(PD) error

	// RegMR registers the size bytes at addr. The errno is ENOMEM where the bytes locked in memory
	// would exceed RLIMIT_MEMLOCK.
	RegMR(pd PD, addr uintptr, size int, access abi.Access) (MR, error)
	DeregMR(MR) error

	// AllocMW allocates a memory window of type 2. The errno is EOPNOTSUPP where the device's
	// library has no such function.
	AllocMW(PD) (MW, error)
	DeallocMW(MW) error

	CreateCompChannel(Context) (CompChannel, error)
	DestroyCompChannel(CompChannel) error

	// CreateCQ creates a completion queue. CQEvent returns user; vector chooses the interrupt.
	CreateCQ(ctx Context, entries int, user uintptr, ch CompChannel, vector int) (CQ, error)

	// DestroyCQ waits until all events of CQEvent are acknowledged.
	DestroyCQ(CQ) error
	ReqNotify(cq CQ, solicitedOnly bool) error

	// Poll moves completions to wcs, room for len(wcs)/abi.WCSize of them. It returns their number.
	Poll(cq CQ, wcs []byte) (int, error)

	// CQEvent takes an event from the channel. The error is EAGAIN if there is none and the file is
	// non-blocking.
	CQEvent(CompChannel) (cq CQ, user uintptr, err error)
	AckCQEvents(cq CQ, n int)

	// CreateQP creates a queue pair of a reliable connection, and replaces the limits in attr by
	// those that the library gives.
	CreateQP(pd PD, attr *abi.QPInitAttr) (QP, error)
	ModifyQP(qp QP, attr abi.QPAttr, mask abi.QPMask) error

	// DestroyQP waits until all asynchronous events of the queue pair are acknowledged.
	DestroyQP(QP) error

	// PostSend posts the requests that begin at first. bad is the first one that was not posted.
	PostSend(qp QP, first uintptr) (bad uintptr, err error)
	PostRecv(qp QP, first uintptr) (bad uintptr, err error)

	// AsyncEvent takes an asynchronous event of the device, like CQEvent.
	AsyncEvent(Context) (abi.AsyncEvent, error)
	AckAsyncEvent(abi.AsyncEvent)

	CreateEventChannel() (EventChannel, error)
	DestroyEventChannel(EventChannel)

	// CreateID creates an rdma_cm_id of the port space for TCP.
	CreateID(ch EventChannel, user uintptr) (ID, error)

	// DestroyID waits until all events of the ID are acknowledged.
	DestroyID(ID) error
	SetOption(id ID, level, name int, value []byte) error

	// Addresses are sockaddr_in or sockaddr_in6.
	BindAddr(id ID, addr []byte) error
	ResolveAddr(id ID, src, dst []byte, timeout time.Duration) error
	ResolveRoute(id ID, timeout time.Duration) error
	Listen(id ID, backlog int) error
	Connect(ID, *abi.ConnParam) error
	Accept(ID, *abi.ConnParam) error
	Reject(id ID, data []byte) error
	Disconnect(ID) error

	// GetCMEvent takes an event from the channel, like CQEvent. Its memory is the library's until
	// AckCMEvent.
	GetCMEvent(EventChannel) (CMEvent, error)
	AckCMEvent(CMEvent) error
}
