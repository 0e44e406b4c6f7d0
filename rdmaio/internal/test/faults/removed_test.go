package faults

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// T129: the server's device is removed: all its connections are closed, at both ends, all keys are
// invalid, and the server reports it and can be closed.
func TestRemovedDeviceEndsAllConnections(t *testing.T) {
	w := rdmaiotest.New(t)
	h := rpctest.Silent{Got: make(chan *rdmaio.Request, 8)}
	var log bytes.Buffer
	s := w.Serve(h, &rdmaio.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	failed := make(chan error, 4)
	var conns []*rdmaio.Conn
	for range 4 {
		c := w.Dial(nil)
		conns = append(conns, c)
		go func() {
			_, err := c.Call(context.Background(), rpctest.ReadCall(1, 0, make([]byte, 5000)))
			failed <- err
		}()
	}
	var reqs []*rdmaio.Request
	for range 4 {
		reqs = append(reqs, <-h.Got)
	}
	w.ServerMem.Remove()
	for range 4 {
		var ce *rdmaio.CallError
		if err := <-failed; !errors.As(err, &ce) || !ce.MayHaveRun {
			t.Error(err)
		}
	}
	for i, r := range reqs {
		<-r.Conn().Done()
		if err := r.Conn().Err(); !errors.Is(err, verbs.ErrDeviceRemoved) {
			t.Errorf("at the server: %v", err)
		}
		answered := make(chan error, 1)
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(1).Buf}, func(err error) { answered <- err })
		if err := <-answered; !errors.Is(err, verbs.ErrDeviceRemoved) {
			t.Errorf("the answer: %v", err)
		}
		<-conns[i].Done()
		if st := conns[i].Stats(); st.InFlight != 0 && st.Waiting != 0 {
			t.Errorf("%+v", st)
		}
	}
	if _, err := rdmaio.Dial(context.Background(), w.Client, w.Addr, nil); err == nil {
		t.Error("a server without a device can be dialed")
	}
	if err := s.Close(); err != nil { // and the log is complete
		t.Error(err)
	}
	if !strings.Contains(log.String(), "accepts no more connections") {
		t.Errorf("log: %s", log.String())
	}
}
