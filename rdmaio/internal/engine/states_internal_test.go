package engine

import (
	"errors"
	"testing"
)

// A step that is not drawn ends the connection, and a drawn one does not.
func TestStates(t *testing.T) {
	r, p := &Request{}, &pending{}
	drawn := New(Config{})
	for _, s := range []requestState{received, assembling, readDeferred, readQueued, reading, delivered, deferred, queued, sentReads, awaitingDone, released} {
		drawn.to(r, s)
	}
	for _, s := range []callState{callWaiting, callSent, callReading, callIdle} {
		drawn.toCall(p, s)
	}
	if !drawn.open {
		t.Errorf("the longest ways that are drawn end the connection: %v", drawn.ended)
	}
	for name, step := range map[string]func(*Engine){
		"a Request is released twice":         func(e *Engine) { e.to(&Request{state: released}, released) },
		"a Reply is queued without a Request": func(e *Engine) { e.to(&Request{}, queued) },
		"a Call is sent that does not wait":   func(e *Engine) { e.toCall(&pending{}, callSent) },
		"a Call ends twice":                   func(e *Engine) { e.toCall(&pending{}, callIdle) },
	} {
		e := New(Config{})
		if step(e); !errors.Is(e.ended, ErrInternal) {
			t.Errorf("%s: the connection ended with %v, want %v", name, e.ended, ErrInternal)
		}
	}
}
