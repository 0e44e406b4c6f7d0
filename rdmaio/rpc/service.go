package rpc

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Service is one version of a program, at the side that serves it. Procedures are added by Handle and HandleAsync, and all
// fields set, before a Handler has it; then it is for concurrent use. Procedure 0 does nothing, unless it is added.
type Service struct {
	program    oncrpc.Program
	procedures map[uint32]*procedure
	idempotent map[uint32]bool

	// Allow decides by what a caller shows of itself whether it may call, before its arguments are looked
	// at; an error refuses it, as one of a procedure does: oncrpc.Refused makes fitting ones. Procedure 0 may always be
	// called. Default: AUTH_NONE and AUTH_SYS are allowed, which prove nothing, and others refused as too weak.
	Allow func(r *Request) error
}

// procedure is what a Service has of one.
type procedure struct {
	sites []xdr.Site // of its results
	serve func(p *place)
}

// NewService makes a Service that has no procedures but number 0.
func NewService(p oncrpc.Program) *Service {
	s := &Service{program: p, procedures: make(map[uint32]*procedure), idempotent: map[uint32]bool{0: true}}
	Handle(s, 0, func(*Request, *oncrpc.Void, *oncrpc.Void) error { return nil })
	return s
}

// add adds a procedure.
func (s *Service) add(proc uint32, serve func(*place)) {
	if s.procedures[proc] != nil && proc != 0 {
		panic(fmt.Sprintf("rpc: program %d version %d: procedure %d was added before", s.program.Number, s.program.Version, proc))
	}
	s.procedures[proc] = &procedure{sites: s.program.Sites(proc, true), serve: serve}
}

// Idempotent declares that procedures may be executed twice without harm: those that only read, and those that leave
// things as they were the second time. rdmaio.CacheReplies lets them by: see Handler.Idempotent. Procedure 0 is idempotent.
func (s *Service) Idempotent(procs ...uint32) {
	for _, proc := range procs {
		s.idempotent[proc] = true
	}
}

// allow is Allow, or the default.
func (s *Service) allow(r *Request) error {
	if s.Allow != nil {
		return s.Allow(r)
	}
	if f := r.Cred().Flavor; f != oncrpc.AuthNone && f != oncrpc.AuthSys {
		return oncrpc.Refused(oncrpc.AuthStatTooWeak)
	}
	return nil
}

// Value is what generated types have, as constraint: *T is an xdr.Value.
type Value[T any] interface {
	*T
	xdr.Value
}

// Handle adds a procedure that is over when f returns; oncrpc.Void stands for no arguments and no results.
// f runs on a goroutine as rdmaio.Handler.ServeRPC does, and may wait, unless rdmaio.Config.NonBlocking is set. It sets res, which is zero before, or returns an error:
// oncrpc.Refusal says what the caller sees of it, and ErrDrop is no answer at all.
//
// r and args, and all that args points to, may be used until f returns. What res points to may be sent from
// until the function given to Request.AfterReply runs.
//
// It panics if the Service has the procedure already.
func Handle[A, R any, PA Value[A], PR Value[R]](s *Service, proc uint32, f func(r *Request, args *A, res *R) error) {
	pool := newPool[A, R]()
	s.add(proc, func(p *place) {
		v := pool.Get().(*values[A, R])
		p.values = v
		if !p.arguments(PA(&v.args)) {
			return
		}
		p.finish(f(&p.Request, &v.args, &v.res), PR(&v.res))
	})
}

// HandleAsync adds a procedure that may go on after f has returned, in a goroutine of its own or
// whenever something has happened: it is over when answer is called, with an error as f of Handle would
// return it. Until then r, args and res may be used. answer is for any goroutine, and all calls of it but the first do nothing.
// A procedure that never calls it keeps the connection from closing.
func HandleAsync[A, R any, PA Value[A], PR Value[R]](s *Service, proc uint32, f func(r *Request, args *A, res *R, answer func(error))) {
	pool := newPool[A, R]()
	s.add(proc, func(p *place) {
		v := pool.Get().(*values[A, R])
		p.values = v
		if !p.arguments(PA(&v.args)) {
			return
		}
		var over atomic.Bool
		f(&p.Request, &v.args, &v.res, func(err error) {
			if !over.Swap(true) {
				p.finish(err, PR(&v.res))
			}
		})
	})
}

// values are those of one call of a procedure.
type values[A, R any] struct {
	args A
	res  R
	pool *sync.Pool
}

func newPool[A, R any]() *sync.Pool {
	pool := new(sync.Pool)
	pool.New = func() any { return &values[A, R]{pool: pool} }
	return pool
}

// release lets another call have the values. Results are no longer anybody's: the memory of a procedure must not
// be written to by the next one. Arguments keep their slices of elements, which decoding uses again.
func (v *values[A, R]) release() {
	var none R
	v.res = none
	v.pool.Put(v)
}
