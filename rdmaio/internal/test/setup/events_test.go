package setup

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// Both ends' events have the version and the sizes of a connection. At a server with both versions
// they are known with the client's first message: ConnUp has them, or TermsSet after it.
func TestEventsHaveTheVersion(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		var mu sync.Mutex
		var list []string // of the server
		var terms rdmaio.Terms
		set := make(chan struct{}, 9)
		events := func(e rdmaio.Event) {
			mu.Lock()
			defer mu.Unlock()
			switch e := e.(type) {
			case *rdmaio.ConnUp:
				list, terms = append(list, "up"), e.Terms
			case *rdmaio.TermsSet:
				list, terms = append(list, "set"), e.Terms
			default:
				return
			}
			if terms.Version != 0 {
				set <- struct{}{}
			}
		}
		w.Serve(rpctest.Quick(nil), &rdmaio.Config{Versions: []int{2, 1}, Events: events, InlineSend: 8192, InlineRecv: 8192})
		for _, version := range []int{1, 2} {
			mu.Lock()
			list, terms = nil, rdmaio.Terms{}
			mu.Unlock()
			var up rdmaio.ConnUp
			c := w.Dial(&rdmaio.Config{Versions: []int{version}, InlineSend: 8192, InlineRecv: 8192, Events: func(e rdmaio.Event) {
				if e, ok := e.(*rdmaio.ConnUp); ok {
					up = *e
				}
			}})
			rpctest.Again(t, c, rpctest.SmallCall(), 0)
			<-set
			mu.Lock()
			if terms.Version != version || terms.InlineRecv != 8192 || !slices.Equal(list, []string{"up"}) && !slices.Equal(list, []string{"up", "set"}) {
				t.Errorf("version %d: the server's events are %v with %+v", version, list, terms)
			}
			mu.Unlock()
			if up.Terms.Version != version || up.Terms.InlineSend != 8192 {
				t.Errorf("version %d: the client's ConnUp has %+v", version, up.Terms)
			}
			if got := c.Stats().Version; got != version {
				t.Errorf("version %d: Stats have %d", version, got)
			}
		}
		failed := rdmaio.ConnFailed{Addr: "there", Version: 2, Reason: rdmaio.ErrNoAnswer}
		if text := failed.String(); !strings.HasPrefix(text, "no connection to there with version 2: ") {
			t.Error(text)
		}
	})
}

// A connection on which the client has sent nothing has no version, and does not hold up a
// shutdown.
func TestConnectionWithoutVersionDelaysNoShutdown(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		s := w.Serve(rpctest.Quick(nil), &rdmaio.Config{Versions: []int{1, 2}})
		p := w.DialRaw(t)
		for len(s.Conns()) == 0 {
			time.Sleep(time.Millisecond)
		}
		c := s.Conns()[0]
		if got := c.Terms().Version; got != 0 {
			t.Errorf("version %d, want 0", got)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		<-p.Lost
	})
}
