package nlm

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4/nlm4rpc"
	"github.com/rpcrdma/rpcrdma/nfs/internal/locks"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Limits of calls to clients.
const (
	maxCalls   = 32 // that run at a time
	maxAnswers = 64 // results of messages that wait for a client
	maxCallees = 1024
	// Results of messages do not take the turns of GRANTED, because an address of a message can be
	// forged. A source has results for few hosts at a time.
	maxResults       = 8
	maxSourceCallees = 4
	callTime         = 10 * time.Second // for a call, with the connection
)

// calls are the calls to clients. Each client that has some has a goroutine, which makes one at a
// time.
type calls struct {
	server  *Server
	turns   chan struct{} // of GRANTED
	results chan struct{} // for results
	mu      sync.Mutex
	callees map[Address]*callee
}

// callee is a client with calls to make.
type callee struct {
	at   Address
	jobs []*job
	left int // jobs that were left when those that were over were removed the last time
}

// job is a call: GRANTED for a request that has waited, or the result of a message.
type job struct {
	waiter *locks.Waiter
	until  time.Time // the last try
	proc   uint32
	args   xdr.Value
	sent   bool // the client may have the lock, and its reply was lost
}

// grant calls the clients whose requests were granted.
func (c *calls) grant(woken []*locks.Waiter) {
	for _, w := range woken {
		g := w.Tag.(*granted)
		c.add(g.at, &job{waiter: w, until: time.Now().Add(c.server.cfg.Patience), proc: nlm4.ProcGranted, args: &g.args})
	}
}

// answer calls a client with the result of a message, once. A client that does not take its results
// loses them, and sends its messages again.
func (c *calls) answer(at Address, proc uint32, res xdr.Value) {
	c.add(at, &job{proc: proc, args: res})
}

func (c *calls) add(at Address, j *job) {
	s := c.server
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	e := c.callees[at]
	if j.waiter == nil && (e == nil && c.full(at) || e != nil && len(e.jobs) >= maxAnswers) {
		return
	}
	if e != nil {
		if len(e.jobs) > 2*e.left { // no more than twice as many as the table's limits allow
			e.jobs = slices.DeleteFunc(e.jobs, func(j *job) bool { return j.waiter != nil && !s.table.Pending(j.waiter) })
			e.left = len(e.jobs)
		}
		e.jobs = append(e.jobs, j)
		return
	}
	e = &callee{at: at, jobs: []*job{j}}
	c.callees[at] = e
	s.tasks.Go(func() { c.run(e) })
}

// full reports whether there are too many clients with calls for another one with a result.
func (c *calls) full(at Address) bool {
	_, source := oncrpc.HostOf(at.Host)
	var same int
	for other := range c.callees {
		if _, s := oncrpc.HostOf(other.Host); s == source {
			same++
		}
	}
	return same >= maxSourceCallees || len(c.callees) >= maxCallees
}

// next returns the first call for a client. Without one, the client is forgotten.
func (c *calls) next(e *callee) *job {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(e.jobs) == 0 {
		delete(c.callees, e.at)
		return nil
	}
	return e.jobs[0]
}

// run makes the calls of a client over one connection, until all are made.
func (c *calls) run(e *callee) {
	s := c.server
	var over Carrier
	leave := func() {
		if over != nil {
			_ = over.Close()
			over = nil
		}
	}
	defer leave()
	for j := c.next(e); j != nil && s.ctx.Err() == nil; j = c.next(e) {
		done := c.over(j)
		if !done {
			var err error
			if over, err = c.call(e.at, over, j); err == nil {
				done = true
			} else {
				leave()
			}
		}
		if done {
			c.remove(e, func(other *job) bool { return other == j })
			continue
		}
		c.expire(e)
		select {
		case <-time.After(s.cfg.Retry):
		case <-s.ctx.Done():
		}
	}
}

// over reports whether a request needs no call, because the client has called for its range. If it
// has less than was granted, GRANTED would say too much: the rest goes back, unless the client may
// have it.
func (c *calls) over(j *job) bool {
	s := c.server
	switch {
	case j.waiter == nil:
		return false
	case !s.table.Pending(j.waiter):
		return true
	case !s.table.Cut(j.waiter):
		return false
	case j.sent:
		s.table.Accepted(j.waiter)
	default:
		c.grant(s.table.Rejected(j.waiter))
	}
	return true
}

// remove removes calls of a client.
func (c *calls) remove(e *callee, match func(*job) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.jobs = slices.DeleteFunc(e.jobs, match)
}

// expire gives up the calls that had their last try, when a client could not be called. Their locks
// are released. The first call becomes the last.
func (c *calls) expire(e *callee) {
	var late []*job
	c.mu.Lock()
	e.jobs = slices.DeleteFunc(e.jobs, func(j *job) bool {
		over := j.waiter == nil || time.Now().After(j.until)
		if over && j.waiter != nil {
			late = append(late, j)
		}
		return over
	})
	if n := len(e.jobs); n > 1 {
		e.jobs = append(e.jobs[1:n:n], e.jobs[0])
	}
	c.mu.Unlock()
	for _, j := range late {
		c.server.log.Warn("nlm: a client that waited for a lock cannot be called: the lock is released", "client", j.waiter.Host)
		c.grant(c.server.table.Rejected(j.waiter))
	}
}

// call makes a call, over a connection if there is one, and returns the connection.
func (c *calls) call(at Address, over Carrier, j *job) (Carrier, error) {
	s := c.server
	turns := c.turns
	if j.waiter == nil {
		turns = c.results
	}
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-s.ctx.Done():
		return over, s.ctx.Err()
	}
	ctx, cancel := context.WithTimeout(s.ctx, callTime)
	defer cancel()
	if over == nil {
		var err error
		if over, err = s.cfg.Reach(ctx, at, nlm4.Program, nlm4.Version); err != nil {
			return nil, err
		}
	}
	if j.waiter == nil {
		return over, rpc.NewClient(over, nlm4rpc.Program(), nil).Call(ctx, j.proc, j.args, nil, nil)
	}
	var res nlm4.Res
	if err := rpc.NewClient(over, nlm4rpc.Program(), nil).Call(ctx, j.proc, j.args, &res, nil); err != nil {
		var failed *rpc.Error
		j.sent = j.sent || errors.As(err, &failed) && failed.MayHaveRun
		return over, err
	}
	switch {
	case res.Stat.Stat == nlm4.StatusDeniedGracePeriod:
		return over, errGrace
	case res.Stat.Stat == nlm4.StatusGranted || j.sent: // a client that has the lock waits no more
		s.table.Accepted(j.waiter)
	default:
		c.grant(s.table.Rejected(j.waiter))
	}
	return over, nil
}
