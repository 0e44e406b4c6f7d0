package nfs4_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// A session whose reclaim fails is not left at the server.
func TestFailedReclaimsLeaveNoSessions(t *testing.T) {
	s := newFake()
	broken := errors.New("broken")
	got := s.session(t, nfs4.Config{Reclaim: func(context.Context, nfs4.Doer) error { return broken }})
	s.restart()
	for range 5 {
		if err := remove(t.Context(), got, "x"); !errors.Is(err, broken) {
			t.Errorf("found %v", err)
		}
	}
	s.set(func(s *fake) {
		if n := len(s.sessions); n > 1 {
			t.Errorf("%d sessions at the server", n)
		}
	})
}

// Close destroys the session that was being established, too.
func TestCloseWhileReclaiming(t *testing.T) {
	s := newFake()
	begun := make(chan bool)
	got := s.session(t, nfs4.Config{Reclaim: func(ctx context.Context, do nfs4.Doer) error {
		close(begun)
		<-ctx.Done()
		return nil
	}})
	s.restart()
	failed := make(chan error, 1)
	go func() { failed <- remove(context.Background(), got, "x") }()
	<-begun
	check(t, got.Close())
	if err := <-failed; err == nil {
		t.Error("a COMPOUND on a closed session succeeded")
	}
	s.set(func(s *fake) {
		if len(s.sessions) != 0 || len(s.owners) != 0 {
			t.Errorf("%d sessions and %d clients at the server", len(s.sessions), len(s.owners))
		}
	})
}
