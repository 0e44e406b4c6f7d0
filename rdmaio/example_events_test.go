package rdmaio_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A server counts its events. A real program keeps such counters in an expvar.Map or in a metrics
// library. Events come from several goroutines. The program stops at an error, to keep the
// example short.
func ExampleConfig_events() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	var mu sync.Mutex
	vars := map[string]float64{}
	add := func(name string, n float64) {
		mu.Lock()
		defer mu.Unlock()
		vars[name] += n
	}
	count := func(e rdmaio.Event) {
		switch e := e.(type) {
		case *rdmaio.ConnUp:
			add("connections", 1)
		case *rdmaio.ConnDown:
			add("connections", -1)
		case *rdmaio.ServeStart:
			add("in_progress", 1)
		case *rdmaio.ServeEnd:
			add("in_progress", -1)
			add(fmt.Sprintf("calls_of_procedure_%d", e.Procedure), 1)
			add("bytes_received", float64(e.Received))
			add("bytes_sent", float64(e.Sent))
			add("seconds", e.Took.Seconds())
			if e.Err != nil {
				add("failed", 1)
			}
		case *rdmaio.Refusal, *rdmaio.PeerFaults, *rdmaio.ConnFailed, *rdmaio.LimitHit:
			log.Println(e) // rare enough to log each
		}
	}

	ctx := context.Background()
	net := mem.New(nil)
	dev, err := net.Open("both", nil)
	must(err)
	defer dev.Close()
	server, err := rdmaio.Listen(ctx, dev, "here", rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		xid, _, _ := oncrpc.Peek(r.Message)
		reply, err := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
		must(err)
		r.Reply(rdmaio.Message{Inline: reply}, nil)
	}), &rdmaio.Config{Events: count})
	must(err)
	client, err := rdmaio.Dial(ctx, dev, server.Addr(), nil)
	must(err)
	for proc := range uint32(3) {
		call, err := oncrpc.NewCall(client.XID(), 100003, 3, proc/2, oncrpc.None()).AppendBinary(nil)
		must(err)
		_, err = client.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: call}})
		must(err)
	}
	must(client.Close())
	must(server.Close())

	for _, name := range []string{"connections", "in_progress", "calls_of_procedure_0", "calls_of_procedure_1", "bytes_received", "bytes_sent"} {
		fmt.Println(name, vars[name])
	}
	// Output:
	// connections 0
	// in_progress 0
	// calls_of_procedure_0 2
	// calls_of_procedure_1 1
	// bytes_received 120
	// bytes_sent 72
}
