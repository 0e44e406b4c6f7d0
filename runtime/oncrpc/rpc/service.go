package rpc

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Service serves one version of a program. Handle and HandleAsync add its procedures. Those calls,
// SetProgram, and setting its fields must come before it is passed to NewHandler; afterwards it may
// be used concurrently. NewService adds the null procedure, which is procedure 0 and does nothing.
type Service struct {
	program    oncrpc.Program
	procedures map[uint32]*procedure
	dense      []facts // of procedures with small numbers, to save a look into the map
	idempotent map[uint32]bool

	// Allow decides by a call's credential whether it is served, before its arguments are decoded.
	// If it returns an error, the call is refused with it, as if the procedure had returned it;
	// oncrpc.Refused makes such errors. Allow is not called for the null procedure of NewService,
	// which is always allowed (RFC 5531 §12.1). A procedure 0 that was added is like the others. If
	// nil, the default
	// allows AUTH_NONE and AUTH_SYS, which prove nothing, and RPCSEC_GSS with any protection. It
	// refuses all others with AUTH_TOOWEAK. gss.Require demands more. Before Allow, RPCSEC_GSS is
	// refused with AUTH_REJECTEDCRED if no gss.Handler has checked the call.
	Allow func(r *Request) error
}

// procedure is a procedure of a Service.
type procedure struct {
	facts
	sites []xdr.Site // its eligible results
	most  int        // of MaxReply, or 0
	null  bool       // it is the one that NewService adds
	serve func(p *pooledRequest)
}

// facts describe a procedure to a carrier.
type facts struct {
	bound       int  // the size of the largest reply in bytes, or negative
	nonBlocking bool // it never blocks
}

// NewService returns a Service that has the null procedure alone (RFC 5531 §12.1). Handle and
// HandleAsync replace it if they are called for procedure 0.
func NewService(p oncrpc.Program) *Service {
	s := &Service{program: p, procedures: make(map[uint32]*procedure), idempotent: make(map[uint32]bool)}
	s.Idempotent(p.Idempotent...)
	Handle(s, 0, func(*Request, *oncrpc.Void, *oncrpc.Void) error { return nil })
	s.procedures[0].null = true
	s.NonBlocking(0)
	return s
}

// SetProgram sets the program's number, where it is chosen at run time (RFC 5531 §13.3.3): for
// example, a client of NFS version 4 chooses the number of its callback program. Without SetProgram
// it is the number in the interface.
func (s *Service) SetProgram(number uint32) { s.program.Number = number }

// add adds a procedure. It panics if the Service has it already, unless it is the null procedure.
func (s *Service) add(proc uint32, results xdr.Value, serve func(*pooledRequest)) {
	if old := s.procedures[proc]; old != nil && !old.null {
		panic(fmt.Sprintf("rpc: program %d version %d has procedure %d already", s.program.Number, s.program.Version, proc))
	}
	of := facts{bound: -1}
	if r, ok := results.(interface{ XDRMaxSize() int }); ok {
		of.bound = min(r.XDRMaxSize(), math.MaxInt32) + largestHead
	}
	s.procedures[proc] = &procedure{sites: s.program.Sites(proc, true), serve: serve}
	s.set(proc, of)
}

// Idempotent declares that procedures may be executed twice without harm: they only read, or the
// second execution changes nothing. replycache.New does not keep their replies; see
// Handler.Idempotent. The null procedure is idempotent, and so are the procedures in
// Program.Idempotent.
func (s *Service) Idempotent(procs ...uint32) {
	for _, proc := range procs {
		s.idempotent[proc] = true
	}
}

// MaxReply limits the results of procedures to n bytes. If none is named, it limits all that the
// Service has. A call with longer results is answered with SYSTEM_ERR. A server over TCP runs more
// handlers at a time if it knows a bound for their replies: see tcp.Config.MaxReply. The size limit
// of the results' type is used if it is less. MaxReply applies to procedures that were added
// before, and panics if one was not.
func (s *Service) MaxReply(n int, procs ...uint32) {
	if len(procs) == 0 {
		procs = slices.Collect(maps.Keys(s.procedures))
	}
	for _, proc := range procs {
		p := s.procedure(proc)
		if bound := min(n, math.MaxInt32) + largestHead; p.bound < 0 || bound < p.bound {
			s.set(proc, facts{bound, p.nonBlocking})
			p.most = n
		}
	}
}

// NonBlocking marks procedures that never block: not on a lock that is held for long, a disk, or a
// call that they make. Allow must not block for them either. A server runs them on the goroutine
// that has read the call, which saves the switch to another one: see oncrpc.NonBlocker. The null
// procedure of NewService is marked. A procedure of HandleAsync may be marked if it returns without
// a wait; it may answer later.
//
// A marked procedure that blocks delays later calls for a second or two: over TCP all calls of its
// connection, over RDMA marked procedures of its connection, and over UDP the whole server. Then
// the carrier logs a warning, and other goroutines take over. From then on the server runs this
// procedure on separate goroutines. NonBlocking applies to procedures that were added before,
// and panics if one was not.
func (s *Service) NonBlocking(procs ...uint32) {
	for _, proc := range procs {
		s.set(proc, facts{s.procedure(proc).bound, true})
	}
}

// procedure returns a procedure that was added, or panics.
func (s *Service) procedure(proc uint32) *procedure {
	p := s.procedures[proc]
	if p == nil {
		panic(fmt.Sprintf("rpc: program %d version %d has no procedure %d", s.program.Number, s.program.Version, proc))
	}
	return p
}

// maxDense is the length of Service.dense at most.
const maxDense = 256

// of returns what a carrier asks about a procedure.
func (s *Service) of(proc uint32) facts {
	if proc < uint32(len(s.dense)) {
		return s.dense[proc]
	}
	if p := s.procedures[proc]; p != nil {
		return p.facts
	}
	return facts{bound: -1}
}

// set sets the facts of a procedure.
func (s *Service) set(proc uint32, to facts) {
	s.procedures[proc].facts = to
	if proc < maxDense {
		for uint32(len(s.dense)) <= proc {
			s.dense = append(s.dense, facts{bound: -1})
		}
		s.dense[proc] = to
	}
}

// allow calls Allow, or applies its default.
func (s *Service) allow(r *Request) error {
	if s.Allow != nil {
		return s.Allow(r)
	}
	switch r.Cred().Flavor {
	case oncrpc.AuthNone, oncrpc.AuthSys, oncrpc.RPCSecGSS:
		return nil
	}
	return oncrpc.Refused(oncrpc.AuthStatTooWeak)
}

// Value is the constraint that *T is an xdr.Value. Generated types meet it.
type Value[T any] interface {
	*T
	xdr.Value
}

// Handle adds a procedure that is answered when f returns. Use oncrpc.Void for no arguments or no
// results. f runs on the same goroutine as oncrpc.Handler.ServeRPC, so it may block unless the
// carrier is configured otherwise. f fills in res, whose fields are zero, or returns an error.
// oncrpc.Refusal describes the reply to an error. After ErrDrop no reply is sent.
//
// r, args and the memory that args points to are valid until f returns. The memory that res points
// to is in use until the function passed to Request.AfterReply runs.
//
// Handle panics if the Service has the procedure already.
func Handle[A, R any, PA Value[A], PR Value[R]](s *Service, proc uint32, f func(r *Request, args *A, res *R) error) {
	pool := newPool[A, R]()
	s.add(proc, PR(new(R)), func(p *pooledRequest) {
		v := pool.Get().(*values[A, R])
		p.values = v
		err := p.guard(func() error {
			if err := p.arguments(PA(&v.args)); err != nil {
				return err
			}
			if len(p.handler.cfg.Interceptors) == 0 {
				return f(&p.Request, &v.args, &v.res)
			}
			return p.run(0, PA(&v.args), PR(&v.res), func() error { return f(&p.Request, &v.args, &v.res) })
		})
		p.finish(err, PR(&v.res))
	})
}

// HandleAsync adds a procedure that is answered when answer is called, during f or after it has
// returned. The argument of answer is the error that f of Handle would return. r, args and res are
// valid until then. answer may be called from any goroutine; only its first call has an effect. A
// procedure that never calls it keeps the connection from closing. If f panics before that, the
// caller gets SYSTEM_ERR, and what f has started must not use args any more.
func HandleAsync[A, R any, PA Value[A], PR Value[R]](s *Service, proc uint32, f func(r *Request, args *A, res *R, answer func(error))) {
	pool := newPool[A, R]()
	s.add(proc, PR(new(R)), func(p *pooledRequest) {
		v := pool.Get().(*values[A, R])
		p.values = v
		if err := p.guard(func() error { return p.arguments(PA(&v.args)) }); err != nil {
			p.finish(err, nil)
			return
		}
		var answered atomic.Bool
		answer := func(err error) {
			if !answered.Swap(true) {
				p.finish(err, PR(&v.res))
			}
		}
		returned := false
		defer func() {
			if !returned && !answered.Swap(true) { // else the carrier recovers the panic
				p.finish(p.panicked(recover()), nil)
			}
		}()
		if len(p.handler.cfg.Interceptors) == 0 {
			f(&p.Request, &v.args, &v.res, answer)
		} else {
			p.start(PA(&v.args), PR(&v.res), func() { f(&p.Request, &v.args, &v.res, answer) }, answer)
		}
		returned = true
	})
}

// values are the arguments and results of one call, reused by later calls of the procedure.
type values[A, R any] struct {
	args A
	res  R
	kept int // bytes of args at most, apart from args itself
	pool *sync.Pool
}

func newPool[A, R any]() *sync.Pool {
	pool := new(sync.Pool)
	pool.New = func() any { return &values[A, R]{pool: pool} }
	return pool
}

// release returns v to the pool. It clears the results, so that the next call cannot write to
// memory of this one's procedure. The arguments keep their slices, which the next decoding reuses,
// unless they are large. This call has added decoded bytes.
func (v *values[A, R]) release(decoded int) {
	v.dropResults()
	if v.kept += decoded; v.kept > keepBytes {
		var none A
		v.args, v.kept = none, 0
	}
	v.pool.Put(v)
}

// dropResults clears the results, so that the memory that they point to can be freed.
func (v *values[A, R]) dropResults() {
	var none R
	v.res = none
}
