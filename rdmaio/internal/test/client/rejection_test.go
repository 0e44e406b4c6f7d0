package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// If the server is full, the client's error names the limit and what to do. Its Call fails at once,
// or waits for a place where the rule for dialling says so, and gets one.
func TestFullServerIsNamed(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		held := make(chan *rdmaio.Request, 1)
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			if rpctest.XID(r.Message) == 1 {
				held <- r
				return
			}
			rpctest.Answer(r)
		}), &rdmaio.Config{MaxConns: 1})
		first := w.Dial(nil)
		go func() { _, _ = first.Call(context.Background(), rpctest.NullCall(1, 40)) }()
		busy := <-held // an idle connection would make room
		_, err := rdmaio.Dial(context.Background(), w.Client, w.Addr, nil)
		full(t, err)
		c := rdmaiotest.NewClient(w, nil)
		_, err = c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
		full(t, err)
		if ce, ok := errors.AsType[*rdmaio.CallError](err); !ok || ce.MayHaveRun {
			t.Errorf("%v, want a Call that was not sent", err)
		}
		patient := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{WaitForServer: true, MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond})
		done := make(chan error, 1)
		go func() {
			_, err := patient.Call(context.Background(), rpctest.NullCall(patient.XID(), 40))
			done <- err
		}()
		for patient.Stats().DialFailures < 3 {
			select {
			case err := <-done:
				t.Fatalf("the Call that waits ended with %v", err)
			case <-time.After(time.Millisecond):
			}
		}
		busy.Drop(nil)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// full checks the error of a full server.
func full(t *testing.T, err error) {
	t.Helper()
	var rejected *verbs.RejectedError
	if !errors.Is(err, rdmaio.ErrServerFull) || !errors.As(err, &rejected) {
		t.Fatalf("%v, want %v and the rejection", err, rdmaio.ErrServerFull)
	}
	for _, want := range []string{"server is full", "Config.MaxConns", "raise"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not contain %q", err, want)
		}
	}
}

// The private data of a rejection by another implementation means nothing.
func TestRejectionByAStrangerMeansNothing(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		ln, err := w.Server.Listen(context.Background(), w.ListenAddr)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		for private, is := range map[string]bool{
			"":                                 false,
			"RPCR\x01\x01\x00":                 false,
			"RPCR\x01\x01\x00\x00\x00\x01":     false,
			"RPCR\x02\x01\x00\x00":             false,
			"RPCR\x01\x01\x01\x00":             false,
			"RPCR\x01\x01\x00\x01":             false,
			"RPCR\x01\x04\x00\x00":             false,
			"RPCR\x01\x00\x00\x00":             false,
			"\xf6\xab\x0e\x18\x01\x01\x00\x00": false,
			"RPCR\x01\x01\x00\x00":             true,
			"RPCR\x01\x02\x00\x00":             true,
			"RPCR\x01\x03\x00\x00":             true,
			"RPCR\x01\x01\x00\x00\x00\x00\x00": true, // padded by a device
		} {
			rejected := make(chan error, 1)
			go func() {
				req, err := ln.Accept(context.Background())
				if err == nil {
					err = req.Reject([]byte(private))
				}
				rejected <- err
			}()
			_, err := rdmaio.Dial(context.Background(), w.Client, ln.Addr(), nil)
			if got := errors.Is(err, rdmaio.ErrServerFull); got != is || !errors.As(err, new(*verbs.RejectedError)) {
				t.Errorf("private data %q: %v, want a rejection, ErrServerFull %v", private, err, is)
			}
			if err := <-rejected; err != nil {
				t.Error(err)
			}
		}
	})
}

// If the server's device has enough connections from a client's address, the client's error names
// the limits that may be the reason: the connection is closed before anything is read from it.
func TestFullSourceIsNamed(t *testing.T) {
	for name, o := range map[string]rdmaiotest.Options{
		"rdmatcp": {TCP: &rdmatcp.Config{MaxPerSource: 1}}, "iwarp": {IWARP: &iwarp.Config{MaxPerSource: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := rdmaiotest.NewWith(t, o)
			w.Serve(&rpctest.File{T: t}, nil)
			rpctest.Again(t, w.Dial(nil), rpctest.SmallCall(), 1)
			c := rdmaiotest.NewClient(w, nil)
			_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
			if ce, ok := errors.AsType[*rdmaio.CallError](err); !ok || ce.MayHaveRun || !strings.Contains(err.Error(), "MaxPerSource") {
				t.Errorf("%v, want a Call that was not sent, and the limit", err)
			}
		})
	}
}

// noRoom is a device that has no protection domain left.
type noRoom struct{ verbs.Device }

func (noRoom) AllocPD() (verbs.ProtectionDomain, error) { return nil, verbs.ErrTooLarge }

// A server whose device cannot have one connection more says so, too.
func TestServerWithoutRoomIsNamed(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		w.Server = noRoom{w.Server}
		w.Serve(&rpctest.File{T: t}, nil)
		_, err := rdmaio.Dial(context.Background(), w.Client, w.Addr, nil)
		if !errors.Is(err, rdmaio.ErrServerFull) || !strings.Contains(err.Error(), "device") {
			t.Errorf("%v, want %v because of the device", err, rdmaio.ErrServerFull)
		}
	})
}

// The clients of one source have MaxPerSource connections, and a further one learns that limit. The
// place of one that ends is free again.
func TestSourceThatIsFullIsNamed(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		hits := make(chan rdmaio.Limit, 10)
		s := w.Serve(&rpctest.File{T: t}, &rdmaio.Config{MaxPerSource: 2, MaxConns: 3, Events: func(e rdmaio.Event) {
			if hit, ok := e.(*rdmaio.LimitHit); ok {
				hits <- hit.Limit
			}
		}})
		first, second := w.Dial(nil), w.Dial(nil)
		rpctest.Again(t, first, rpctest.SmallCall(), 1)
		rpctest.Again(t, second, rpctest.SmallCall(), 1)
		_, err := rdmaio.Dial(context.Background(), w.Client, w.Addr, nil)
		if !errors.Is(err, rdmaio.ErrServerFull) || !strings.Contains(err.Error(), "Config.MaxPerSource") {
			t.Errorf("%v, want %v because of MaxPerSource", err, rdmaio.ErrServerFull)
		}
		if limit := <-hits; limit != rdmaio.LimitMaxPerSource || s.Stats().Rejected != 1 {
			t.Errorf("limit %s, and %+v", limit, s.Stats())
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		patient := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{WaitForServer: true, MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond})
		if _, err := patient.Call(context.Background(), rpctest.NullCall(patient.XID(), 40)); err != nil {
			t.Error(err)
		}
	})
}
