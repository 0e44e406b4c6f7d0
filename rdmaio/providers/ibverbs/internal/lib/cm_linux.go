//go:build amd64 || arm64

package lib

import (
	"sync"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
)

// cmCalls has the methods of Lib for librdmacm.
type cmCalls struct {
	*caller
	f *cmFuncs

	mu      sync.Mutex
	devices []Context // of the first call that found some
}

// Devices implements Lib.
func (m *cmCalls) Devices() ([]Context, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.devices) > 0 {
		return append([]Context(nil), m.devices...), nil
	}
	f, err := m.frame()
	if err != nil {
		return nil, err
	}
	defer m.release(f)
	abi.SetPointer(f.addr, 0)
	f.args = [6]uintptr{f.addr}
	list, errno := m.object(m.f.getDevices, f, 1)
	if errno != 0 {
		return nil, named("rdma_get_devices", errno)
	}
	// The list is not freed, which would close the devices.
	for i := range int(abi.Int(f.addr)) {
		m.devices = append(m.devices, Context(abi.Pointer(list, i)))
	}
	return append([]Context(nil), m.devices...), nil
}

// CreateEventChannel implements Lib.
func (m *cmCalls) CreateEventChannel() (EventChannel, error) {
	p, err := m.create("rdma_create_event_channel", m.f.createChannel)
	return EventChannel(p), err
}

// DestroyEventChannel implements Lib.
func (m *cmCalls) DestroyEventChannel(ch EventChannel) { m.discard(m.f.destroyChannel, uintptr(ch)) }

// CreateID implements Lib.
func (m *cmCalls) CreateID(ch EventChannel, user uintptr) (ID, error) {
	f, err := m.frame()
	if err != nil {
		return 0, err
	}
	defer m.release(f)
	f.args = [6]uintptr{uintptr(ch), f.addr, user, abi.PortSpaceTCP}
	if errno := m.status(m.f.createID, f, 4); errno != 0 {
		return 0, named("rdma_create_id", errno)
	}
	return ID(abi.Pointer(f.addr, 0)), nil
}

// DestroyID implements Lib.
func (m *cmCalls) DestroyID(id ID) error { return m.do("rdma_destroy_id", m.f.destroyID, uintptr(id)) }

// SetOption implements Lib.
func (m *cmCalls) SetOption(id ID, level, name int, value []byte) error {
	return m.withBytes("rdma_set_option", m.f.setOption, frameSize, value, func(addr uintptr) [6]uintptr {
		return [6]uintptr{uintptr(id), uintptr(level), uintptr(name), addr, uintptr(len(value))}
	})
}

// BindAddr implements Lib.
func (m *cmCalls) BindAddr(id ID, addr []byte) error {
	return m.withBytes("rdma_bind_addr", m.f.bindAddr, abi.SockaddrSize, addr, func(at uintptr) [6]uintptr {
		return [6]uintptr{uintptr(id), at}
	})
}

// ResolveAddr implements Lib.
func (m *cmCalls) ResolveAddr(id ID, src, dst []byte, timeout time.Duration) error {
	const name = "rdma_resolve_addr"
	if len(src) > abi.SockaddrSize || len(dst) > abi.SockaddrSize {
		return named(name, syscall.EINVAL)
	}
	f, err := m.frame()
	if err != nil {
		return err
	}
	defer m.release(f)
	clear(f.mem)
	copy(f.mem, dst)
	copy(f.mem[abi.SockaddrSize:], src)
	f.args = [6]uintptr{uintptr(id), 0, f.addr, milliseconds(timeout)}
	if len(src) > 0 {
		f.args[1] = f.addr + abi.SockaddrSize
	}
	return named(name, m.status(m.f.resolveAddr, f, 4))
}

// ResolveRoute implements Lib.
func (m *cmCalls) ResolveRoute(id ID, timeout time.Duration) error {
	return m.do("rdma_resolve_route", m.f.resolveRoute, uintptr(id), milliseconds(timeout))
}

// milliseconds returns a duration as an int of C, at least 1.
func milliseconds(d time.Duration) uintptr {
	return uintptr(min(max(d.Milliseconds(), 1), 1<<31-1))
}

// Listen implements Lib.
func (m *cmCalls) Listen(id ID, backlog int) error {
	return m.do("rdma_listen", m.f.listen, uintptr(id), uintptr(backlog))
}

// Connect implements Lib.
func (m *cmCalls) Connect(id ID, p *abi.ConnParam) error {
	return m.withParam("rdma_connect", m.f.connect, id, p)
}

// Accept implements Lib.
func (m *cmCalls) Accept(id ID, p *abi.ConnParam) error {
	return m.withParam("rdma_accept", m.f.accept, id, p)
}

func (m *cmCalls) withParam(name string, fn uintptr, id ID, p *abi.ConnParam) error {
	f, err := m.frame()
	if err != nil {
		return err
	}
	defer m.release(f)
	clear(f.mem[:abi.ConnParamSize])
	p.Put(f.mem)
	f.args = [6]uintptr{uintptr(id), f.addr}
	return named(name, m.status(fn, f, 2))
}

// Reject implements Lib.
func (m *cmCalls) Reject(id ID, data []byte) error {
	const most = 255 // the length is a byte
	return m.withBytes("rdma_reject", m.f.reject, most, data, func(addr uintptr) [6]uintptr {
		return [6]uintptr{uintptr(id), addr, uintptr(len(data))}
	})
}

// withBytes calls a function with a copy of b outside the Go heap. args returns the arguments for
// its address.
func (m *cmCalls) withBytes(name string, fn uintptr, most int, b []byte, args func(addr uintptr) [6]uintptr) error {
	if len(b) > most {
		return named(name, syscall.EINVAL)
	}
	f, err := m.frame()
	if err != nil {
		return err
	}
	defer m.release(f)
	clear(f.mem)
	copy(f.mem, b)
	f.args = args(f.addr)
	return named(name, m.status(fn, f, len(f.args)))
}

// Disconnect implements Lib.
func (m *cmCalls) Disconnect(id ID) error { return m.do("rdma_disconnect", m.f.hangUp, uintptr(id)) }

// GetCMEvent implements Lib.
func (m *cmCalls) GetCMEvent(ch EventChannel) (CMEvent, error) {
	f, err := m.frame()
	if err != nil {
		return 0, err
	}
	f.args = [6]uintptr{uintptr(ch), f.addr}
	var e CMEvent
	if errno := m.status(m.f.getEvent, f, 2); errno != 0 {
		err = errno
	} else {
		e = CMEvent(abi.Pointer(f.addr, 0))
	}
	m.release(f)
	return e, err
}

// AckCMEvent implements Lib.
func (m *cmCalls) AckCMEvent(e CMEvent) error {
	return m.do("rdma_ack_cm_event", m.f.ackEvent, uintptr(e))
}
