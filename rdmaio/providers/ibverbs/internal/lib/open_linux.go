//go:build amd64 || arm64

package lib

import (
	"sync"

	"github.com/ebitengine/purego"
)

// The libraries, by the names that they have had since their first version.
const (
	libverbs = "libibverbs.so.1"
	librdma  = "librdmacm.so.1"
	libc     = "libc.so.6"
)

// Open loads the libraries. Every call returns the same Lib, or the same error: the libraries stay
// loaded until the program ends. The error is a *LoadError.
func Open() (Lib, error) {
	l, err := loaded()
	if err != nil {
		return nil, err
	}
	return l, nil
}

var loaded = sync.OnceValues(load)

// library is the Lib of Open.
type library struct {
	*verbsCalls
	*cmCalls
}

func load() (*library, error) { return loadFrom(libverbs, librdma) }

func loadFrom(verbsName, cmName string) (*library, error) {
	c, v, m := &caller{}, &verbsFuncs{}, &cmFuncs{}
	for _, from := range []struct {
		name  string
		funcs []function
	}{
		{libc, []function{{"__errno_location", &c.errnoLocation}}},
		{verbsName, v.table()},
		{cmName, m.table()},
	} {
		// The device's libraries are loaded by libibverbs, and find its functions by themselves.
		handle, err := purego.Dlopen(from.name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			return nil, &LoadError{Library: from.name, Err: err}
		}
		for _, f := range from.funcs {
			if *f.at, err = purego.Dlsym(handle, f.name); err != nil {
				return nil, &LoadError{Library: from.name, Symbol: f.name, Err: err}
			}
		}
	}
	return &library{&verbsCalls{caller: c, f: v}, &cmCalls{caller: c, f: m}}, nil
}

// function is a function of a library, and the place of its address.
type function struct {
	name string
	at   *uintptr
}

// verbsFuncs are the addresses of the functions of libibverbs.
type verbsFuncs struct {
	queryDevice, queryPort, queryGID         uintptr
	allocPD, deallocPD, regMR, deregMR       uintptr
	createChannel, destroyChannel            uintptr
	createCQ, destroyCQ, cqEvent, ackCQEvent uintptr
	createQP, modifyQP, destroyQP            uintptr
	asyncEvent, ackAsyncEvent                uintptr
}

func (f *verbsFuncs) table() []function {
	return []function{
		{"ibv_query_device", &f.queryDevice}, {"ibv_query_port", &f.queryPort}, {"ibv_query_gid", &f.queryGID},
		{"ibv_alloc_pd", &f.allocPD}, {"ibv_dealloc_pd", &f.deallocPD},
		{"ibv_reg_mr", &f.regMR}, {"ibv_dereg_mr", &f.deregMR},
		{"ibv_create_comp_channel", &f.createChannel}, {"ibv_destroy_comp_channel", &f.destroyChannel},
		{"ibv_create_cq", &f.createCQ}, {"ibv_destroy_cq", &f.destroyCQ},
		{"ibv_get_cq_event", &f.cqEvent}, {"ibv_ack_cq_events", &f.ackCQEvent},
		{"ibv_create_qp", &f.createQP}, {"ibv_modify_qp", &f.modifyQP}, {"ibv_destroy_qp", &f.destroyQP},
		{"ibv_get_async_event", &f.asyncEvent}, {"ibv_ack_async_event", &f.ackAsyncEvent},
	}
}

// cmFuncs are the addresses of the functions of librdmacm.
type cmFuncs struct {
	getDevices                              uintptr
	createChannel, destroyChannel           uintptr
	createID, destroyID, setOption          uintptr
	bindAddr, resolveAddr, resolveRoute     uintptr
	listen, connect, accept, reject, hangUp uintptr
	getEvent, ackEvent                      uintptr
}

func (f *cmFuncs) table() []function {
	return []function{
		{"rdma_get_devices", &f.getDevices},
		{"rdma_create_event_channel", &f.createChannel}, {"rdma_destroy_event_channel", &f.destroyChannel},
		{"rdma_create_id", &f.createID}, {"rdma_destroy_id", &f.destroyID}, {"rdma_set_option", &f.setOption},
		{"rdma_bind_addr", &f.bindAddr}, {"rdma_resolve_addr", &f.resolveAddr}, {"rdma_resolve_route", &f.resolveRoute},
		{"rdma_listen", &f.listen}, {"rdma_connect", &f.connect}, {"rdma_accept", &f.accept},
		{"rdma_reject", &f.reject}, {"rdma_disconnect", &f.hangUp},
		{"rdma_get_cm_event", &f.getEvent}, {"rdma_ack_cm_event", &f.ackEvent},
	}
}
