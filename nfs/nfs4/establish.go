package nfs4

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42/nfs42rpc"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// attempt is an attempt to establish a session, for which COMPOUNDs wait.
type attempt struct {
	done chan struct{} // closed when it is over
	err  error
}

// current returns the present session. Without one it makes one, and waits for it.
func (s *Session) current(ctx context.Context) (*session, error) {
	for {
		s.mu.Lock()
		now, ended, a := s.now, s.ended, s.attempt
		if now == nil && !ended && a == nil {
			a = &attempt{done: make(chan struct{})}
			s.attempt = a
			s.wg.Go(func() { s.try(a) })
		}
		s.mu.Unlock()
		switch {
		case ended:
			return nil, ErrClosed
		case now != nil:
			return now, nil
		}
		select {
		case <-a.done:
			if a.err != nil {
				return nil, fmt.Errorf("nfs4: no session: %w", a.err)
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("nfs4: no session yet: %w", context.Cause(ctx))
		}
	}
}

// rounds is the number of times that one attempt begins again because the session or the client ID
// is lost at once.
const rounds = 5

// try makes a session, and reports the result to the attempt.
func (s *Session) try(a *attempt) {
	ctx, cancel := s.bound(s.ctx)
	defer cancel()
	at, err := s.establish(ctx)
	for try := 1; try < rounds && errors.Is(err, errLost) && s.pause(ctx, try) == nil; try++ {
		at, err = s.establish(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.now, s.former, s.reclaim = at, at, false
		s.cfg.Logger.Info("nfs4: a session is up", "client", uint64(at.client), "session", fmt.Sprintf("%x", at.id), "slots", at.limits.Slots)
	} else {
		s.cfg.Logger.Warn("nfs4: no session", "reason", err)
	}
	a.err, s.attempt = err, nil
	close(a.done)
}

// establish makes a session. If the server has lost the client's state, it is reclaimed.
func (s *Session) establish(ctx context.Context) (*session, error) {
	id, err := s.exchangeID(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	former, last := s.former, s.live // last is former, or a session whose reclaim failed
	s.mu.Unlock()
	at, err := s.createSession(ctx, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	leaving := last != nil && s.leaving == last
	s.leaving = nil
	known := former != nil && former.client == at.client && former.scope == at.scope && id.Flags&nfs42.ExchangeIDFlagConfirmedR != 0 && !s.reclaim
	s.mu.Unlock()
	if leaving {
		s.destroyLater(last)
	} else if last != nil && last.client == at.client && last.scope == at.scope && last.id != at.id {
		if err := s.destroySession(ctx, last.id); err != nil {
			s.cfg.Logger.Debug("nfs4: DESTROY_SESSION of the former session", "reason", err)
		}
	}
	if known {
		s.cfg.Logger.Debug("nfs4: the server has kept the state")
	} else if err := s.restore(ctx, at, former != nil); err != nil {
		return nil, err
	}
	at.lease = s.leaseTime(ctx, at)
	return at, nil
}

// restore reclaims the state of a former session, if there was one, and makes RECLAIM_COMPLETE: a
// client with nothing to reclaim must say so as well (RFC 8881 §18.51.3).
func (s *Session) restore(ctx context.Context, at *session, had bool) error {
	if had && s.cfg.Reclaim != nil {
		if err := s.cfg.Reclaim(ctx, &doer{s, at}); err != nil {
			return fmt.Errorf("Config.Reclaim: %w", err)
		}
	}
	var c Compound
	Add[nfs42.ReclaimCompleteRes](&c, nfs42ext.OpReclaimComplete, &nfs42.ReclaimCompleteArgs{}, 0)
	if err := s.do(ctx, &c, at); err != nil && !Refused(err, nfs42ext.StatusCompleteAlready) {
		return err
	}
	if had && s.cfg.Reopen != nil {
		if err := s.cfg.Reopen(ctx, &doer{s, at}); err != nil {
			return fmt.Errorf("Config.Reopen: %w", err)
		}
	}
	return nil
}

// doer makes COMPOUNDs on a session that is being established.
type doer struct {
	s  *Session
	at *session
}

// Do implements Doer.
func (d *doer) Do(ctx context.Context, c *Compound) error { return d.s.do(ctx, c, d.at) }

// exchangeID names the client to the server (RFC 8881 §18.35).
func (s *Session) exchangeID(ctx context.Context) (*nfs42.ExchangeIDResOK, error) {
	var c Compound
	res := Add[nfs42.ExchangeIDRes](&c, nfs42ext.OpExchangeID, &nfs42.ExchangeIDArgs{
		ClientOwner: s.cfg.owner, Flags: nfs42.ExchangeIDFlagUseNonPNFS,
	}, 4096)
	if err := s.bare(ctx, s.nfs, &c); err != nil {
		return nil, err
	}
	if how := res.OK.StateProtect.How; how != nfs42.StateProtectHowNone {
		return nil, violation("state protection %v, asked for SP4_NONE (RFC 8881 §18.35.4)", how)
	}
	return res.OK, nil
}

// Limits of the server's callbacks. They fit inline over RDMA.
const (
	backSlots = 16
	backBytes = 4096
	backOps   = 8
)

// headers is the room for a COMPOUND without its data.
const headers = 4096

// createSession makes a session with a backchannel on the connection of the call (RFC 8881 §18.36).
func (s *Session) createSession(ctx context.Context, id *nfs42.ExchangeIDResOK) (*session, error) {
	var c Compound
	want := nfs42.ChannelAttrs{
		MaxRequestSize: nfs42.Count(s.cfg.MaxIO + headers), MaxResponseSize: nfs42.Count(max(s.cfg.MaxIO, aclRoom) + headers),
		MaxResponseSizeCached: 2 * headers, MaxOperations: 64, MaxRequests: nfs42.Count(s.cfg.Slots),
	}
	args := &nfs42.CreateSessionArgs{
		ClientID: id.ClientID, Sequence: id.SequenceID, Flags: nfs42.CreateSessionFlagConnBackChan, ForeChanAttrs: want, CBProgram: s.cfg.program,
		BackChanAttrs: nfs42.ChannelAttrs{
			MaxRequestSize: backBytes, MaxResponseSize: backBytes, MaxResponseSizeCached: backBytes, MaxOperations: backOps, MaxRequests: backSlots,
		},
		SecParms: []nfs42.CallbackSecParms{{CBSecFlavor: uint32(oncrpc.AuthNone)}, {CBSecFlavor: uint32(oncrpc.AuthSys), SysCred: s.cfg.callback}},
	}
	res := Add[nfs42.CreateSessionRes](&c, nfs42ext.OpCreateSession, args, 128)
	if err := s.bare(ctx, s.nfs, &c); err != nil {
		if Refused(err, nfs42ext.StatusStaleClientid) || Refused(err, nfs42ext.StatusSeqMisordered) {
			return nil, fmt.Errorf("%w: %w", errLost, err)
		}
		return nil, err
	}
	ok := &res.OK
	if ok.Sequence != args.Sequence {
		return nil, violation("CREATE_SESSION %d, expected %d (RFC 8881 §18.36.3)", ok.Sequence, args.Sequence)
	}
	got := &ok.ForeChanAttrs
	if got.MaxRequests == 0 || got.MaxOperations < 2 || got.MaxRequestSize < 512 || got.MaxResponseSize < 512 {
		return nil, violation("a session of %d slots, %d operations, %d bytes of a COMPOUND and %d of its reply (RFC 8881 §18.36.3)",
			got.MaxRequests, got.MaxOperations, got.MaxRequestSize, got.MaxResponseSize)
	}
	at := &session{id: ok.SessionID, client: id.ClientID, scope: string(id.ServerScope), since: time.Now()}
	at.limits = Limits{ // a server may reduce what the client asked for, and not exceed it
		MaxRequest: int(min(got.MaxRequestSize, want.MaxRequestSize)), MaxResponse: int(min(got.MaxResponseSize, want.MaxResponseSize)),
		MaxOperations: int(min(got.MaxOperations, want.MaxOperations)), Slots: int(min(got.MaxRequests, want.MaxRequests)),
	}
	at.slots, at.lease = newSlots(at.limits.Slots), defaultLease
	s.mu.Lock()
	s.live = at
	s.mu.Unlock()
	s.back.begin(at)
	if c.ctx.resent.Load() || ok.Flags&nfs42.CreateSessionFlagConnBackChan == 0 {
		s.rebind(at) // the connection of the reply may be another one
	}
	return at, nil
}

// bare makes a COMPOUND without SEQUENCE, again while the server answers NFS4ERR_DELAY.
func (s *Session) bare(ctx context.Context, nfs *rpc.Client, c *Compound) error {
	for try := 0; ; try++ {
		c.bare = true
		err := s.call(ctx, nfs, c)
		if !Refused(err, nfs42ext.StatusDelay) && !Refused(err, nfs42ext.StatusBackChanBusy) {
			return err
		}
		if waited := s.pause(ctx, try); waited != nil {
			return errors.Join(err, waited)
		}
	}
}

// destroySession makes the server forget a session.
func (s *Session) destroySession(ctx context.Context, id nfs42.SessionID) error {
	var c Compound
	Add[nfs42.DestroySessionRes](&c, nfs42ext.OpDestroySession, &nfs42.DestroySessionArgs{SessionID: id}, 0)
	err := s.bare(ctx, s.nfs, &c)
	if Refused(err, nfs42ext.StatusBadsession) {
		return nil
	}
	return err
}

// lose gives up a session, so that the next COMPOUND makes another one.
func (s *Session) lose(at *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == at {
		s.now = nil
		at.slots.end()
		s.cfg.Logger.Warn("nfs4: the session is lost", "session", fmt.Sprintf("%x", at.id))
	}
}

// Connected binds a new connection of the carrier to the session, for COMPOUNDs and callbacks (RFC
// 8881 §18.34). It belongs into the field Connected of rdmaio.ClientConfig or tcp.ClientConfig,
// which have the rules for ctx and the error.
func (s *Session) Connected(ctx context.Context, conn oncrpc.Carrier) error {
	s.mu.Lock()
	at := s.live
	s.mu.Unlock()
	if at == nil {
		return nil // CREATE_SESSION binds its connection
	}
	return s.bind(ctx, rpc.NewClient(conn, nfs42rpc.Program(), &rpc.ClientConfig{Cred: s.cfg.cred}), at)
}

// bind binds a connection. If the server does not know the session, COMPOUNDs find out.
func (s *Session) bind(ctx context.Context, nfs *rpc.Client, at *session) error {
	var c Compound
	res := Add[nfs42.BindConnToSessionRes](&c, nfs42ext.OpBindConnToSession, &nfs42.BindConnToSessionArgs{
		SessionID: at.id, Dir: nfs42.ChannelDirFromClientForeOrBoth,
	}, 32)
	err := s.bare(ctx, nfs, &c)
	switch refused := (*StatusError)(nil); {
	case errors.As(err, &refused):
		s.cfg.Logger.Info("nfs4: BIND_CONN_TO_SESSION was refused", "status", refused.Status)
		return nil
	case err != nil:
		return err
	case res.OK.SessionID != at.id:
		return violation("BIND_CONN_TO_SESSION to session %x, expected %x (RFC 8881 §18.34.3)", res.OK.SessionID, at.id)
	}
	return nil
}
