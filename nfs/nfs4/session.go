package nfs4

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42/nfs42rpc"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Session is a client's session with a server, and the next ones after that is lost. All methods
// are safe for concurrent use.
//
//	          Start, or a COMPOUND                    reclaimed
//	none ────────────────────────> establishing ──────────────────> up
//	 ^                               │       ^                       │
//	 └───────────── failed ──────────┘       └── the server lost it ─┘
//
// One goroutine at a time establishes, and all COMPOUNDs wait for it.
type Session struct {
	cfg  *settings
	back *backchannel

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // probes of slots, the renewal, and repairs of the backchannel

	nfs    *rpc.Client   // set by Start
	close  func() error  // of the carrier that Dial made
	repair atomic.Bool   // the backchannel is being repaired
	flags  atomic.Uint32 // of the last SEQUENCE

	mu      sync.Mutex
	now     *session // for COMPOUNDs; nil: none
	live    *session // for new connections and callbacks: now, or the one that is being established
	former  *session // the last one that was up, for its client ID
	attempt *attempt // to establish a session, or nil
	reclaim bool     // the next one must reclaim, even if the client ID is the former one
	ended   bool     // Close was called

	left    time.Time // when a session was last given up because the server asked for it
	leaving *session  // that session, until it is replaced
}

// session is one session with the server. It is not changed after it is established.
type session struct {
	id      nfs42.SessionID
	client  nfs42.ClientID
	scope   string
	limits  Limits
	slots   *slots
	lease   time.Duration
	since   time.Time
	renewed atomic.Int64 // when the last good SEQUENCE was sent, in ns after since
}

// Limits are the server's for the fore channel.
type Limits struct {
	MaxRequest, MaxResponse int // bytes of a COMPOUND and its reply, RPC headers included
	MaxOperations           int // SEQUENCE included
	Slots                   int
}

// New returns a Session that has made no call. The carrier's configuration needs Handler and
// Connected; then Start begins. cfg may be nil. DialTCP and DialRDMA do all of this.
func New(cfg *Config) (*Session, error) {
	full, err := cfg.settle()
	if err != nil {
		return nil, err
	}
	s := &Session{cfg: full, close: func() error { return nil }}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.back = newBackchannel(s)
	return s, nil
}

// Handler returns the handler of the server's callbacks, for the field ReverseHandler of the
// carrier's connections.
func (s *Session) Handler() oncrpc.Handler { return s.back.handler() }

// Start makes the first session over a carrier. The caller must Close the Session before the
// carrier. It is called once.
func (s *Session) Start(ctx context.Context, over oncrpc.Carrier) error {
	s.nfs = rpc.NewClient(resends{over}, nfs42rpc.Program(), &rpc.ClientConfig{Cred: s.cfg.cred})
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if _, err := s.current(ctx); err != nil {
		return err
	}
	s.wg.Go(s.renew)
	return nil
}

// Limits returns what the server allows in the present session. Without one it is zero.
func (s *Session) Limits() Limits {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		return Limits{}
	}
	return s.now.limits
}

// Do makes a COMPOUND, and reads the results into it. It makes the COMPOUND again while the server
// answers NFS4ERR_DELAY or NFS4ERR_GRACE, unless an operation before that was executed and is not
// harmless: then the StatusError is returned. It waits for a lost session to be replaced. The error
// is a *StatusError if the server refused an operation: Compound.Succeeded returns how many came
// before it.
//
// State IDs in c are sent as they are. After the state was reclaimed, the server refuses the former
// ones: the caller then makes another COMPOUND with its present ones.
func (s *Session) Do(ctx context.Context, c *Compound) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return s.do(ctx, c, nil)
}

// bound returns a context that ends after Config.MaxWait.
func (s *Session) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.cfg.MaxWait < 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, s.cfg.MaxWait, errTooLong)
}

// do is Do on the present session, or on one that is not yet in use.
func (s *Session) do(ctx context.Context, c *Compound, on *session) error {
	ran := false // it may have run on a session that is lost
	for try := 0; ; try++ {
		at := on
		if at == nil {
			var err error
			if at, err = s.current(ctx); err != nil {
				return err
			}
		}
		verdict, err := s.once(ctx, at, c)
		if verdict == settled {
			return err
		}
		if verdict == lost {
			ran = ran || c.ctx.resent.Load()
			s.lose(at)
			switch {
			case on != nil:
				return fmt.Errorf("%w: %w", errLost, err)
			case ran && !c.repeatable(len(c.ops)):
				return fmt.Errorf("%w: %w", ErrReplyLost, err)
			case try == 0:
				continue
			}
		}
		if waited := s.pause(ctx, try); waited != nil {
			return errors.Join(err, waited)
		}
	}
}

// verdict is the consequence of a reply.
type verdict int

const (
	settled verdict = iota // the caller has the error or the results
	again                  // the same COMPOUND may succeed later
	lost                   // the session is lost
)

// once makes a COMPOUND on a slot.
func (s *Session) once(ctx context.Context, at *session, c *Compound) (verdict, error) {
	if len(c.ops)+1 > at.limits.MaxOperations {
		return settled, fmt.Errorf("nfs4: a COMPOUND of %d operations, the server allows %d", len(c.ops)+1, at.limits.MaxOperations)
	}
	c.ctx.resent.Store(false)
	slot, seq, highest, ok := at.slots.take(ctx)
	if !ok {
		if err := context.Cause(ctx); err != nil {
			return settled, fmt.Errorf("no free slot: %w", err)
		}
		return lost, errLost
	}
	c.number(at, slot, seq, highest)
	sent := time.Now()
	for try := 0; ; try++ {
		use, verdict, err := s.judge(at, c, s.call(ctx, s.nfs, c))
		if verdict == again && use == kept { // RFC 8881 §2.10.6.2: the same sequence ID
			waited := s.pause(ctx, try)
			if waited == nil {
				continue
			}
			verdict, err = settled, errors.Join(err, waited)
			if c.ctx.resent.Load() {
				use = unknown
			}
		}
		s.release(at, slot, seq, use, sent)
		return verdict, err
	}
}

// number sets the arguments of SEQUENCE.
func (c *Compound) number(at *session, slot nfs42.SlotID, seq nfs42.SequenceID, highest nfs42.SlotID) {
	c.seq = nfs42.SequenceArgs{SessionID: at.id, SequenceID: seq, SlotID: slot, HighestSlotID: highest, CacheThis: !c.repeatable(len(c.ops))}
}

// release frees the slot of a COMPOUND, or finds out whether the server has taken it.
func (s *Session) release(at *session, slot nfs42.SlotID, seq nfs42.SequenceID, use slotUse, sent time.Time) {
	switch use {
	case kept:
		at.slots.give(slot, false)
	case consumed:
		at.renewed.Store(int64(sent.Sub(at.since)))
		at.slots.give(slot, true)
	case unknown:
		s.settle(at, slot, seq)
	}
}

// call makes the COMPOUND. The error is of the call, of the results, or a *StatusError.
func (s *Session) call(ctx context.Context, nfs *rpc.Client, c *Compound) error {
	s.prepare(ctx, c)
	err := nfs.CallAtMost(&c.ctx, nfs42.ProcCompound, (*arguments)(c), (*results)(c), &c.opt, c.most())
	return c.ended(err)
}

// prepare makes a COMPOUND ready for a call.
func (s *Session) prepare(ctx context.Context, c *Compound) {
	c.minor = s.cfg.Minor
	for i := range c.ops {
		c.ops[i].status = 0
	}
	c.done, c.res, c.ctx.Context = 0, nfs42.SequenceRes{}, ctx
	c.opt = rpc.Options{Results: c.Results, Cred: c.Cred}
}

// ended returns the error of a COMPOUND whose call has returned err.
func (c *Compound) ended(err error) error {
	c.ctx.Context = nil
	if err == nil {
		return c.refusal()
	}
	if whole := (*StatusError)(nil); errors.As(err, &whole) {
		return whole
	}
	return err
}

// slotUse says whether the server has taken a slot's sequence ID.
type slotUse int

const (
	kept     slotUse = iota // the server has not taken it
	consumed                // the slot has its next one
	unknown                 // the server may have taken it, or may do so later
)

// judge returns what a reply means for the slot and for the COMPOUND.
func (s *Session) judge(at *session, c *Compound, err error) (slotUse, verdict, error) {
	var refused *StatusError
	if err != nil && !errors.As(err, &refused) {
		if call := (*rpc.Error)(nil); errors.As(err, &call) && !call.MayHaveRun && !c.ctx.resent.Load() {
			return kept, settled, err
		}
		return unknown, settled, err // no reply, or one that breaks a rule
	}
	if refused != nil && refused.Status == nfs42ext.StatusRetryUncachedRep {
		if c.repeatable(len(c.ops)) {
			return consumed, again, err
		}
		return consumed, settled, fmt.Errorf("%w: %w", ErrReplyLost, err)
	}
	if refused != nil && refused.Index < 0 {
		use, verdict := judgeSequence(refused.Status)
		return use, verdict, err
	}
	if rule := checkSequence(&c.seq, &c.res.OK); rule != nil {
		c.done = 0
		return unknown, settled, rule
	}
	s.observe(at, &c.res.OK)
	if refused != nil && (refused.Status == nfs42ext.StatusDelay || refused.Status == nfs42ext.StatusGrace) && c.repeatable(refused.Index) {
		return consumed, again, err
	}
	return consumed, settled, err
}

// judgeSequence is judge for a COMPOUND whose SEQUENCE failed (RFC 8881 §18.46.3). Linux answers
// NFS4ERR_EXPIRED, too, while it drops a client.
func judgeSequence(status nfs42ext.Status) (slotUse, verdict) {
	switch status {
	case nfs42ext.StatusDelay:
		return kept, again
	case nfs42ext.StatusBadsession, nfs42ext.StatusDeadsession, nfs42ext.StatusStaleClientid, nfs42ext.StatusExpired, nfs42ext.StatusSeqMisordered,
		nfs42ext.StatusSeqFalseRetry, nfs42ext.StatusBadslot, nfs42ext.StatusBadHighSlot, nfs42ext.StatusConnNotBoundToSession:
		return kept, lost
	}
	return kept, settled
}

// checkSequence compares the result of SEQUENCE with its arguments (RFC 8881 §18.46.3).
func checkSequence(args *nfs42.SequenceArgs, res *nfs42.SequenceResOK) error {
	switch {
	case res.SessionID != args.SessionID:
		return violation("SEQUENCE for session %x, expected %x (RFC 8881 §18.46.3)", res.SessionID, args.SessionID)
	case res.SlotID != args.SlotID:
		return violation("SEQUENCE for slot %d, expected %d (RFC 8881 §18.46.3)", res.SlotID, args.SlotID)
	case res.SequenceID != args.SequenceID:
		return violation("SEQUENCE %d of slot %d, expected %d (RFC 8881 §18.46.3)", res.SequenceID, res.SlotID, args.SequenceID)
	}
	return nil
}

// pause waits before try is repeated: longer each time, up to 32 times Config.RetryPause.
func (s *Session) pause(ctx context.Context, try int) error {
	t := time.NewTimer(s.cfg.RetryPause<<min(try, 5)*3/4 + rand.N(s.cfg.RetryPause<<min(try, 5)/4+1))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return ErrClosed
	}
}
