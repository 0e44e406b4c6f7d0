package rdmaio_test

import (
	"encoding/binary"
	"runtime"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
)

// Calls of several callers go out by one post, if there were others in progress. With one
// processor all callers have brought theirs before the first of them comes back.
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
	n := len(w.History.Events())
	for i := range callers {
		others.Go(func() { again(t, c, smallCall(), uint32(2+i)) })
	}
	others.Wait()
	longest, run := 0, 0
	for _, e := range w.Since(n) {
		if !rdmaiotest.IsSend(&e) || e.Device != "client" {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	if longest < callers/2 {
		t.Errorf("%d Calls of %d went out together, want all", longest, callers)
	}
	r.Reply(rdmaio.Message{Inline: replyHeader(1).buf}, nil)
	first.Wait()
}
