package rdmaio

import (
	"errors"
	"log/slog"
	"testing"
	"time"
)

// unable is an Extension that makes no handler.
type unable struct {
	Extension
	panics bool
}

func (u unable) Attach(*ExtensionConn) ExtensionHandler {
	if u.panics {
		panic("no handler")
	}
	return nil
}

// The connection is closed if an extension returns no handler for it. Any goroutine may let RPC
// messages pass: one that runs the engine, or the timer of host authentication.
func TestConnectionEndsWithoutHandlerOfExtension(t *testing.T) {
	for _, panics := range []bool{false, true} {
		c, s := scriptedConn(t, 2, nil)
		s.ends = true
		c.set.faults = slog.New(slog.DiscardHandler)
		c.set.Logger = c.set.faults
		c.set.extensions = &extensionSet{list: []*extension{{use: unable{panics: panics}, Name: "unable"}}}
		c.set.HostAuth.Mode = HostAuthWanted
		c.auth.known = make(chan struct{})
		c.auth.state.Store(authWaiting)
		go c.authTimeout()
		select {
		case <-c.Done():
		case <-time.After(time.Minute):
			t.Fatalf("panics %v: the connection does not end", panics)
		}
		if err := c.Err(); errors.Is(err, ErrPanic) != panics {
			t.Errorf("panics %v: the connection ends with %v", panics, err)
		}
		<-c.auth.known
	}
}
