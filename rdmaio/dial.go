package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/driver"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Dial connects to a server at an address in the form that the provider of dev defines. ctx bounds
// the call of Dial, not the connection. cfg may be nil. The caller must Close the connection.
func Dial(ctx context.Context, dev verbs.Device, addr string, cfg *Config) (*Conn, error) {
	c, _, err := dial(ctx, dev, addr, cfg)
	return c, err
}

// dial does the work of Dial. With an error, it also reports whether the server was reached and has
// not answered the version offered.
func dial(ctx context.Context, dev verbs.Device, addr string, cfg *Config) (_ *Conn, unanswered bool, _ error) {
	set, err := cfg.settings(dev)
	if err != nil {
		return nil, false, err
	}
	c, err := newConn(dev, &set, engine.Requester, set.ReverseHandler, newShared(&set), admission.Source{Local: true})
	if err != nil {
		set.emitFailed(addr, false, err)
		return nil, false, err
	}
	c.remote.Store(&addr) // a reverse Call may come, and ask for it, before Dial returns
	info, err := dev.Dial(ctx, addr, c.qp, set.params())
	if err != nil {
		err = explainRejection(err)
		set.emitFailed(addr, false, err)
		return nil, false, errors.Join(err, c.Close())
	}
	c.remote.Store(&info.RemoteAddr)
	c.negotiate(info.PrivateData)
	c.connected(info)
	c.driver.Post(engine.Event{Kind: engine.EventOpen})
	if err := c.agreed.await(ctx, c.ctx); err != nil {
		if errors.Is(err, ErrNoVersion) && set.HostAuth.Mode == HostAuthRequired {
			err = fmt.Errorf("%w (Config.HostAuth is required, which excludes version 1)", err)
		}
		set.emitFailed(addr, false, err)
		return nil, !errors.Is(err, ErrNoVersion), errors.Join(err, c.Close())
	}
	if err := c.auth.await(ctx, c.ctx); err != nil {
		set.emitFailed(addr, false, err)
		return nil, false, errors.Join(err, c.Close())
	}
	c.emitUp()
	return c, false, nil
}

// newConn makes a connection with a source that can be dialed or accepted, with its Receives
// posted. Close frees it.
func newConn(dev verbs.Device, set *settings, role engine.Role, h Handler, with *shared, from admission.Source) (_ *Conn, err error) {
	credits := set.calls + set.serves
	recvs := credits + set.extraReceives()
	if set.Legacy && role == engine.Responder {
		recvs += set.serves // for RDMA_DONE
	}
	announce, err := set.extensions.announce()
	if err != nil {
		return nil, err
	}
	c := &Conn{host: host{set: set, role: role, shared: with, log: with.log, ends: with.ends, start: time.Now()}}
	c.join(from)
	c.answerer.handler = h
	c.answerer.reuses = set.Events == nil && oncrpc.ForgetsRequests(h)
	c.caller.submits.allow(set.calls)
	versions := set.protocols(role, announce)
	c.agreed.offer(versions, set.firstRecv)
	c.caller.offered.offers.turn = make(chan struct{}, 1)
	c.caller.offered.abandoned.Most, c.caller.offered.replies.most = largestMessage, set.MaxReplyMemory
	c.caller.ready.Store(role == engine.Requester)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.caller.xids.Seed()
	defer func() {
		if err != nil {
			err = errors.Join(err, c.free())
		}
	}()
	if c.pd, err = dev.AllocPD(); err != nil {
		return nil, err
	}
	c.pool = mrpool.New(c.pd, mrpool.Config{
		Heap: dev.Attributes().HeapMemory, KeepIdle: 2 * credits, KeepBytes: keepBytes(),
		KeepPeak: role == engine.Requester, // at a responder the peer decides, see ADR 0073
		Keep:     with.keep,
	})
	if c.driver, err = driver.New(dev, c.pd, owner{c}, recvs, set.SendQueue, max(1, 2*set.calls)); err != nil {
		return nil, err
	}
	c.qp = c.driver.QP()
	c.pool.UseQueuePair(c.qp)
	if !(set.NonBlocking && h != nil) && len(set.extensions.list) == 0 {
		// Otherwise code of the upper layer would run on the goroutines of callers.
		c.caller.lone.qp, _ = c.qp.(verbs.Progresser)
	}
	cfg := engine.Config{
		Role: role, Versions: versions, Calls: set.calls, KeepCredit: !set.NoCancel, Serves: set.serves, ReverseChunks: set.ReverseChunks, MaxErrors: set.MaxErrors,
		SendWRs: set.SendQueue, Limits: set.limits, ChainTimeout: set.WorkTimeout,
		Legacy: set.Legacy, DoneTimeout: set.WorkTimeout,
		OfferTimeout: set.OfferTimeout, OfferXID: c.caller.xids.Next(),
		ReceiveSize:  set.firstRecv,
		MaxContinued: set.MaxContinued, ContinueTimeout: set.WorkTimeout, Reserve: c.reserve, Memory: &with.joined,
	}
	if set.HostAuth.Mode != HostAuthOff {
		c.auth.prepare(&set.HostAuth, c.authTimeout, &cfg)
	}
	if cfg.DoneTimeout == 0 {
		cfg.DoneTimeout = defaultTimeout // a client must not keep access without a limit (R109)
	}
	// The memory of the Receives is the first, because a provider may size its memory by it.
	cfg.MaxBorrowed = credits - 1
	if dev.Attributes().LendReceives {
		cfg.Receives, cfg.ReceiveMost = recvs, set.InlineRecv
	} else if cfg.Recv, err = c.buffers(recvs, set.InlineRecv); err != nil {
		return nil, err
	}
	if cfg.Send, err = c.buffers(1, set.InlineSend); err != nil {
		return nil, err
	}
	with.places.Join(&c.answerer.requests, from)
	c.driver.Start(engine.New(cfg))
	return c, nil
}

// buffers allocates and registers memory for n buffers of size bytes each.
func (c *Conn) buffers(n, size int) ([]engine.Buffer, error) {
	b, err := c.pool.Exact(n * size)
	if err != nil {
		return nil, err
	}
	c.memory = append(c.memory, b)
	out := make([]engine.Buffer, n)
	for i := range out {
		out[i] = engine.Buffer{MR: b.MR, Offset: i * size, Bytes: b.Bytes[i*size : (i+1)*size : (i+1)*size]}
	}
	return out, nil
}

// newShared returns a state without limits.
func newShared(set *settings) *shared {
	return &shared{
		places: admission.Places[request]{Run: (*request).run},
		faults: admission.LimitLog(set.faults), log: admission.LimitLog(set.Logger), ends: admission.LimitLog(set.Logger),
	}
}
