package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
)

// A step that is not in the drawings closes the connection, with the names of both states. The
// steps of the drawings do not.
func TestForbiddenStepEndsTheConnection(t *testing.T) {
	r, p := &Request{}, &pending{}
	drawn := New(Config{Versions: []protocol.Version{new(v1.Version)}})
	for _, s := range []requestState{received, assembling, readDeferred, readQueued, reading, delivered, deferred, queued, sentReads, awaitingDone, released} {
		drawn.responder.to(r, s)
	}
	for _, s := range []callState{callWaiting, callSent, callReading, callIdle} {
		drawn.requester.toCall(p, s)
	}
	if !drawn.open {
		t.Errorf("the longest paths in the drawings end the connection: %v", drawn.ended)
	}
	for name, c := range map[string]struct {
		step  func(*Engine)
		names string
	}{
		"a Request is released twice":         {func(e *Engine) { e.responder.to(&Request{state: released}, released) }, "from state released to released"},
		"a Reply is queued without a Request": {func(e *Engine) { e.responder.to(&Request{}, queued) }, "from state idle to queued"},
		"a Call is sent that does not wait":   {func(e *Engine) { e.requester.toCall(&pending{}, callSent) }, "from state idle to sent"},
		"a Call ends twice":                   {func(e *Engine) { e.requester.toCall(&pending{}, callIdle) }, "from state idle to idle"},
	} {
		e := New(Config{Versions: []protocol.Version{new(v1.Version)}})
		c.step(e)
		if !errors.Is(e.ended, ErrInternal) || !strings.HasSuffix(e.ended.Error(), c.names) {
			t.Errorf("%s: the connection ended with %v, want %v %s", name, e.ended, ErrInternal, c.names)
		}
	}
}
