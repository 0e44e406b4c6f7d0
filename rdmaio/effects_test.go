package rdmaio_test

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// An answer that the provider refuses to send is not counted as sent: done gets the reason.
func TestRefusedSend(t *testing.T) {
	w := rdmaiotest.New(t)
	boom := errors.New("boom")
	inj := fault.New(fault.Config{Script: []fault.Fault{{Kind: fault.RefuseSend, At: 1, Err: boom}}})
	w.Server = inj.Device(w.Server)
	result := make(chan error, 1)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: replyHeader(xidOf(r.Message)).buf}, func(err error) { result <- err })
	}), nil)
	c := w.Dial(nil)
	if _, err := c.Call(context.Background(), smallCall()); err == nil {
		t.Error("a Call was answered")
	}
	if err := <-result; !errors.Is(err, boom) {
		t.Errorf("done got %v, want the refusal", err)
	}
}

// R309: the end of one large Call lets all Calls go on that waited for its memory, not only the
// first.
func TestAllWaitersGo(t *testing.T) {
	w := rdmaiotest.New(t)
	h := &holder{got: make(chan struct{}, 100)}
	s := w.Serve(h, &rdmaio.Config{MaxConnMemory: 50_000})
	c := w.Dial(nil)
	go func() { <-h.got; h.answer() }()
	// This Call brings the credits and the allowance.
	if _, err := c.Call(context.Background(), writeCall(1, 0, make([]byte, 30_000))); err != nil {
		t.Fatal(err)
	}
	const small = 4
	errs := make(chan error, 1+small)
	call := func(xid uint32, n int) {
		_, err := c.Call(context.Background(), writeCall(xid, 0, make([]byte, n)))
		errs <- err
	}
	go call(2, 45_000)
	<-h.got
	for xid := range uint32(small) {
		go call(3+xid, 10_000)
	}
	counts(t, serverConn(t, s), func(st *rdmaio.Stats) bool { return st.Received == 2+small })
	h.answer()
	for range small {
		select {
		case <-h.got:
		case <-time.After(20 * time.Second):
			t.Fatal("a Call still waits for memory")
		}
	}
	for range small {
		h.answer()
	}
	for range 1 + small {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// Calls of several callers go out by one post, if there were others in progress. With one
// processor all callers have brought theirs before the first of them comes back, unless the system
// takes the processor away in between: such a run says nothing, so the best of five is judged.
func TestCallsShareAPost(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const callers = 8
	w := rdmaiotest.New(t)
	held := make(chan *rdmaio.Request, 1)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if binary.BigEndian.Uint32(r.Message) == 1 {
			held <- r // in progress until the others are over
			return
		}
		r.Reply(rdmaio.Message{Inline: replyHeader(binary.BigEndian.Uint32(r.Message)).buf}, nil)
	}), nil)
	c := w.Dial(nil)
	again(t, c, smallCall(), 100) // brings credits for more than one
	var first, others sync.WaitGroup
	first.Go(func() { again(t, c, smallCall(), 1) })
	r := <-held
	longest := 0
	for try := uint32(0); try < 5 && longest < callers/2; try++ {
		n := len(w.History.Events())
		for i := range uint32(callers) {
			others.Go(func() { again(t, c, smallCall(), 2+try*callers+i) })
		}
		others.Wait()
		run := 0
		for _, e := range w.Since(n) {
			if !rdmaiotest.IsSend(&e) || e.Device != "client" {
				run = 0
				continue
			}
			run++
			longest = max(longest, run)
		}
	}
	if longest < callers/2 {
		t.Errorf("%d Calls of %d went out together, want all", longest, callers)
	}
	r.Reply(rdmaio.Message{Inline: replyHeader(1).buf}, nil)
	first.Wait()
}
