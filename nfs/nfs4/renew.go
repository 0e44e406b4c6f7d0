package nfs4

import (
	"context"
	"errors"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
)

// Bounds of the lease that the server names.
const (
	defaultLease = 30 * time.Second // if it names none
	minLease     = time.Second
	maxLease     = time.Hour
)

// leaseTime asks for the server's lease.
func (s *Session) leaseTime(ctx context.Context, at *session) time.Duration {
	var c Compound
	c.PutRootFH()
	attr := c.GetAttr(nfs42.Bitmap{1 << nfs42.AttrLeaseTime})
	var seconds nfs42.FattrLeaseTime
	err := s.do(ctx, &c, at)
	if err == nil {
		err = seconds.UnmarshalBinary(attr.OK.ObjAttributes.AttrVals)
	}
	if err != nil {
		s.cfg.Logger.Warn("nfs4: the server's lease is not known", "reason", err)
		return defaultLease
	}
	return min(max(time.Duration(seconds)*time.Second, minLease), maxLease)
}

// renew keeps the lease while no COMPOUND does (RFC 8881 §8.3): SEQUENCE alone renews it. After a
// session was lost it makes the next one, so that state is reclaimed in time.
func (s *Session) renew() {
	var c Compound
	for {
		s.mu.Lock()
		at := s.now
		s.mu.Unlock()
		wait := s.cfg.RetryPause
		if at != nil {
			wait = at.lease/3 - at.idle()
		}
		t := time.NewTimer(max(wait, 0))
		select {
		case <-t.C:
		case <-s.ctx.Done():
			t.Stop()
			return
		}
		if at != nil && at.idle() < at.lease/3 {
			continue
		}
		c.Reset()
		if err := s.Do(s.ctx, &c); err != nil && s.ctx.Err() == nil {
			s.cfg.Logger.Warn("nfs4: the lease was not renewed", "reason", err)
			_ = s.pause(s.ctx, 5) // it fails when the Session is closed
		}
	}
}

// idle returns the time since the lease was renewed. Changes of the system's clock do not matter.
func (at *session) idle() time.Duration {
	return time.Since(at.since) - time.Duration(at.renewed.Load())
}

// State that SEQUENCE reports as revoked.
const revoked = nfs42.SeqStatusExpiredAllStateRevoked | nfs42.SeqStatusExpiredSomeStateRevoked | nfs42.SeqStatusAdminStateRevoked |
	nfs42.SeqStatusRecallableStateRevoked

// observe does what the results of SEQUENCE say (RFC 8881 §18.46.3).
func (s *Session) observe(at *session, ok *nfs42.SequenceResOK) {
	at.slots.target(ok.TargetHighestSlotID)
	former := s.flags.Swap(ok.StatusFlags)
	if ok.StatusFlags == 0 {
		return
	}
	if now := ok.StatusFlags & revoked; now != 0 && now != former&revoked && s.cfg.Revoked != nil {
		s.cfg.Revoked(now)
	}
	if ok.StatusFlags&(nfs42.SeqStatusCBPathDown|nfs42.SeqStatusCBPathDownSession) != 0 {
		s.rebind(at)
	}
	if ok.StatusFlags&(nfs42.SeqStatusRestartReclaimNeeded|nfs42.SeqStatusBackchannelFault) != 0 {
		s.leaveSession(at, ok.StatusFlags&nfs42.SeqStatusRestartReclaimNeeded != 0)
	}
}

// leaveSession gives up a session because the server asks for it. It does so once in a lease: a
// server that always asks must not make a storm.
func (s *Session) leaveSession(at *session, reclaim bool) {
	s.mu.Lock()
	if s.now != at || !s.left.IsZero() && time.Since(s.left) < at.lease {
		s.mu.Unlock()
		return
	}
	s.left, s.leaving = time.Now(), at
	s.reclaim = s.reclaim || reclaim
	s.mu.Unlock()
	s.lose(at)
}

// destroyLater makes the server forget a session that was given up at its request, when the
// COMPOUNDs in flight on it have their replies: a reply that was lost with its connection is only
// there as long as the session is.
func (s *Session) destroyLater(at *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.wg.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, at.lease)
		at.slots.drained(ctx)
		cancel()
		ctx, cancel = s.bound(s.ctx)
		defer cancel()
		if err := s.destroySession(ctx, at.id); err != nil {
			s.cfg.Logger.Debug("nfs4: DESTROY_SESSION of a session that was left", "reason", err)
		}
	})
}

// rebind binds a connection of the carrier to the session again, because callbacks do not come
// through. There is a pause between two of these.
func (s *Session) rebind(at *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || !s.repair.CompareAndSwap(false, true) {
		return
	}
	s.wg.Go(func() {
		defer s.repair.Store(false)
		ctx, cancel := s.bound(s.ctx)
		defer cancel()
		if err := s.bind(ctx, s.nfs, at); err != nil {
			s.cfg.Logger.Warn("nfs4: the backchannel is down", "reason", err)
		}
		_ = s.pause(s.ctx, 5) // it fails when the Session is closed
	})
}

// settle finds out whether the server has taken a slot's sequence ID, on a goroutine. It calls
// SEQUENCE with the same one: the server executes that, or says that it has executed another
// COMPOUND. The slot is free after that (RFC 8881 §2.10.6.2).
func (s *Session) settle(at *session, slot nfs42.SlotID, seq nfs42.SequenceID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.wg.Go(func() {
		for try := 0; ; try++ {
			over, err := s.probe(at, slot, seq)
			if over || s.pause(s.ctx, try) != nil {
				return
			}
			s.cfg.Logger.Debug("nfs4: a slot waits for its reply", "slot", uint32(slot), "reason", err)
			select {
			case <-at.slots.ended:
				return
			default:
			}
		}
	})
}

// probe calls SEQUENCE for settle. over says that the slot is free, or its session lost.
func (s *Session) probe(at *session, slot nfs42.SlotID, seq nfs42.SequenceID) (over bool, err error) {
	var c Compound
	c.probe = true
	c.seq = nfs42.SequenceArgs{SessionID: at.id, SequenceID: seq, SlotID: slot, HighestSlotID: slot}
	ctx, cancel := s.bound(s.ctx)
	defer cancel()
	err = s.call(ctx, s.nfs, &c)
	refused, rule := (*StatusError)(nil), (*ProtocolError)(nil)
	switch {
	case err == nil:
		if err = checkSequence(&c.seq, &c.res.OK); err != nil {
			s.lose(at)
			return true, err
		}
	case errors.As(err, &rule):
		s.lose(at)
		return true, err
	case !errors.As(err, &refused) || refused.Status == nfs42ext.StatusDelay:
		return false, err
	case refused.Status != nfs42ext.StatusSeqFalseRetry && refused.Status != nfs42ext.StatusRetryUncachedRep:
		s.lose(at)
		return true, err
	}
	at.slots.give(slot, true)
	return true, nil
}

// closeTimeout is the longest time that Close waits for the server.
const closeTimeout = 5 * time.Second

// Close makes the server forget the session and the client ID, and closes the carrier that DialTCP
// or DialRDMA made. A server that does not answer delays it by 5 s at most. COMPOUNDs in progress
// fail. Close waits for callbacks and for Config.Reclaim, which must not call it. The error is of
// the carrier.
func (s *Session) Close() error {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil
	}
	s.ended = true
	now := s.now
	s.now = nil
	s.mu.Unlock()
	if now != nil {
		now.slots.end()
	}
	s.cancel()
	s.wg.Wait()
	s.mu.Lock()
	last := s.live // also one that was being established
	s.mu.Unlock()
	if last != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := s.leave(ctx, last); err != nil {
			s.cfg.Logger.Info("nfs4: the server keeps the client ID until its lease ends", "reason", err)
		}
	}
	return s.close()
}

// leave makes the server forget the session and the client ID.
func (s *Session) leave(ctx context.Context, at *session) error {
	err := s.destroySession(ctx, at.id)
	if err == nil {
		var c Compound
		Add[nfs42.DestroyClientIDRes](&c, nfs42ext.OpDestroyClientID, &nfs42.DestroyClientIDArgs{ClientID: at.client}, 0)
		err = s.bare(ctx, s.nfs, &c)
	}
	return err
}
