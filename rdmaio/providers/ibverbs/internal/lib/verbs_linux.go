//go:build amd64 || arm64

package lib

import (
	"os"
	"syscall"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
)

// verbsCalls has the methods of Lib for libibverbs.
type verbsCalls struct {
	*caller
	f *verbsFuncs
}

// QueryDevice implements Lib.
func (v *verbsCalls) QueryDevice(ctx Context) (abi.DeviceAttr, error) {
	f, err := v.frame()
	if err != nil {
		return abi.DeviceAttr{}, err
	}
	defer v.release(f)
	clear(f.mem)
	f.args = [6]uintptr{uintptr(ctx), f.addr}
	if errno := v.status(v.f.queryDevice, f, 2); errno != 0 {
		return abi.DeviceAttr{}, named("ibv_query_device", errno)
	}
	return abi.GetDeviceAttr(f.mem), nil
}

// QueryPort implements Lib.
func (v *verbsCalls) QueryPort(ctx Context, port int) (abi.PortAttr, error) {
	f, err := v.frame()
	if err != nil {
		return abi.PortAttr{}, err
	}
	defer v.release(f)
	clear(f.mem) // older libraries leave the last fields as they are
	f.args = [6]uintptr{uintptr(ctx), uintptr(port), f.addr}
	if errno := v.status(v.f.queryPort, f, 3); errno != 0 {
		return abi.PortAttr{}, named("ibv_query_port", errno)
	}
	return abi.GetPortAttr(f.mem), nil
}

// QueryGID implements Lib.
func (v *verbsCalls) QueryGID(ctx Context, port, index int) ([16]byte, error) {
	f, err := v.frame()
	if err != nil {
		return [16]byte{}, err
	}
	defer v.release(f)
	f.args = [6]uintptr{uintptr(ctx), uintptr(port), uintptr(index), f.addr}
	if errno := v.status(v.f.queryGID, f, 4); errno != 0 {
		return [16]byte{}, named("ibv_query_gid", errno)
	}
	return [16]byte(f.mem), nil
}

// AllocPD implements Lib.
func (v *verbsCalls) AllocPD(ctx Context) (PD, error) {
	p, err := v.create("ibv_alloc_pd", v.f.allocPD, uintptr(ctx))
	return PD(p), err
}

// DeallocPD implements Lib.
func (v *verbsCalls) DeallocPD(pd PD) error {
	return v.do("ibv_dealloc_pd", v.f.deallocPD, uintptr(pd))
}

// RegMR implements Lib.
func (v *verbsCalls) RegMR(pd PD, addr uintptr, size int, access abi.Access) (MR, error) {
	p, err := v.create("ibv_reg_mr", v.f.regMR, uintptr(pd), addr, uintptr(size), uintptr(access))
	return MR(p), err
}

// DeregMR implements Lib.
func (v *verbsCalls) DeregMR(mr MR) error { return v.do("ibv_dereg_mr", v.f.deregMR, uintptr(mr)) }

// windowType2 is IBV_MW_TYPE_2.
const windowType2 = 2

// op returns the address of a function of the device's library, which the object at p leads to: the
// first field of every object is its ibv_context.
func op(p uintptr, op abi.Op) uintptr { return abi.OpOf(abi.Pointer(p, 0), op) }

// AllocMW implements Lib.
func (v *verbsCalls) AllocMW(pd PD) (MW, error) {
	const name = "ibv_alloc_mw"
	alloc := op(uintptr(pd), abi.OpAllocMW)
	if alloc == 0 {
		return 0, os.NewSyscallError(name, syscall.EOPNOTSUPP)
	}
	p, err := v.create(name, alloc, uintptr(pd), windowType2)
	return MW(p), err
}

// DeallocMW implements Lib.
func (v *verbsCalls) DeallocMW(mw MW) error {
	return v.do("ibv_dealloc_mw", op(uintptr(mw), abi.OpDeallocMW), uintptr(mw))
}

// CreateCompChannel implements Lib.
func (v *verbsCalls) CreateCompChannel(ctx Context) (CompChannel, error) {
	p, err := v.create("ibv_create_comp_channel", v.f.createChannel, uintptr(ctx))
	return CompChannel(p), err
}

// DestroyCompChannel implements Lib.
func (v *verbsCalls) DestroyCompChannel(ch CompChannel) error {
	return v.do("ibv_destroy_comp_channel", v.f.destroyChannel, uintptr(ch))
}

// CreateCQ implements Lib.
func (v *verbsCalls) CreateCQ(ctx Context, entries int, user uintptr, ch CompChannel, vector int) (CQ, error) {
	p, err := v.create("ibv_create_cq", v.f.createCQ, uintptr(ctx), uintptr(entries), user, uintptr(ch), uintptr(vector))
	return CQ(p), err
}

// DestroyCQ implements Lib.
func (v *verbsCalls) DestroyCQ(cq CQ) error {
	return v.do("ibv_destroy_cq", v.f.destroyCQ, uintptr(cq))
}

// ReqNotify implements Lib.
func (v *verbsCalls) ReqNotify(cq CQ, solicitedOnly bool) error {
	only := uintptr(0)
	if solicitedOnly {
		only = 1
	}
	return v.do("ibv_req_notify_cq", op(uintptr(cq), abi.OpReqNotify), uintptr(cq), only)
}

// Poll implements Lib.
func (v *verbsCalls) Poll(cq CQ, wcs []byte) (int, error) {
	if len(wcs) < abi.WCSize {
		return 0, nil
	}
	f, err := v.frame()
	if err != nil {
		return 0, err
	}
	f.args = [6]uintptr{uintptr(cq), uintptr(len(wcs) / abi.WCSize), abi.Addr(wcs)}
	n := int32(f.direct(op(uintptr(cq), abi.OpPollCQ), 3))
	v.release(f)
	if n < 0 { // without an errno
		return 0, os.NewSyscallError("ibv_poll_cq", syscall.EIO)
	}
	return int(n), nil
}

// CQEvent implements Lib.
func (v *verbsCalls) CQEvent(ch CompChannel) (cq CQ, user uintptr, err error) {
	f, err := v.frame()
	if err != nil {
		return 0, 0, err
	}
	f.args = [6]uintptr{uintptr(ch), f.addr, f.addr + 8}
	if errno := v.status(v.f.cqEvent, f, 3); errno != 0 {
		err = errno
	} else {
		cq, user = CQ(abi.Pointer(f.addr, 0)), abi.Pointer(f.addr, 1)
	}
	v.release(f)
	return cq, user, err
}

// AckCQEvents implements Lib.
func (v *verbsCalls) AckCQEvents(cq CQ, n int) {
	v.discard(v.f.ackCQEvent, uintptr(cq), uintptr(n))
}

// CreateQP implements Lib.
func (v *verbsCalls) CreateQP(pd PD, attr *abi.QPInitAttr) (QP, error) {
	f, err := v.frame()
	if err != nil {
		return 0, err
	}
	defer v.release(f)
	clear(f.mem)
	attr.Put(f.mem)
	f.args = [6]uintptr{uintptr(pd), f.addr}
	p, errno := v.object(v.f.createQP, f, 2)
	if errno != 0 {
		return 0, named("ibv_create_qp", errno)
	}
	*attr = abi.GetQPInitAttr(f.mem)
	return QP(p), nil
}

// ModifyQP implements Lib.
func (v *verbsCalls) ModifyQP(qp QP, attr abi.QPAttr, mask abi.QPMask) error {
	f, err := v.frame()
	if err != nil {
		return err
	}
	defer v.release(f)
	clear(f.mem)
	attr.Put(f.mem)
	f.args = [6]uintptr{uintptr(qp), f.addr, uintptr(mask)}
	return named("ibv_modify_qp", v.status(v.f.modifyQP, f, 3))
}

// DestroyQP implements Lib.
func (v *verbsCalls) DestroyQP(qp QP) error {
	return v.do("ibv_destroy_qp", v.f.destroyQP, uintptr(qp))
}

// PostSend implements Lib.
func (v *verbsCalls) PostSend(qp QP, first uintptr) (bad uintptr, err error) {
	return v.post(op(uintptr(qp), abi.OpPostSend), qp, first)
}

// PostRecv implements Lib.
func (v *verbsCalls) PostRecv(qp QP, first uintptr) (bad uintptr, err error) {
	return v.post(op(uintptr(qp), abi.OpPostRecv), qp, first)
}

func (v *verbsCalls) post(fn uintptr, qp QP, first uintptr) (bad uintptr, err error) {
	f, err := v.frame()
	if err != nil {
		return first, err
	}
	abi.SetPointer(f.addr, first) // for libraries that fail without a word
	f.args = [6]uintptr{uintptr(qp), first, f.addr}
	if r := int32(f.direct(fn, 3)); r != 0 {
		bad, err = abi.Pointer(f.addr, 0), plain(syscall.Errno(max(r, -r)))
	}
	v.release(f)
	return bad, err
}

// AsyncEvent implements Lib.
func (v *verbsCalls) AsyncEvent(ctx Context) (abi.AsyncEvent, error) {
	f, err := v.frame()
	if err != nil {
		return abi.AsyncEvent{}, err
	}
	f.args = [6]uintptr{uintptr(ctx), f.addr}
	var e abi.AsyncEvent
	if errno := v.status(v.f.asyncEvent, f, 2); errno != 0 {
		err = errno
	} else {
		e = abi.GetAsyncEvent(f.mem)
	}
	v.release(f)
	return e, err
}

// AckAsyncEvent implements Lib.
func (v *verbsCalls) AckAsyncEvent(e abi.AsyncEvent) {
	f, done := v.anyFrame()
	clear(f.mem[:abi.AsyncEventSize])
	e.Put(f.mem)
	f.args = [6]uintptr{f.addr}
	f.direct(v.f.ackAsyncEvent, 1)
	done()
}
