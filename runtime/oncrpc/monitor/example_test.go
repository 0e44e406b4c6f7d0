package monitor_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A server and its client are shown on one page.
func Example() {
	m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{program}})

	service := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		xid, _, _ := oncrpc.Peek(r.Message)
		r.Reply(replyOf(xid, oncrpc.Success), nil)
	})
	server, err := tcp.Listen(context.Background(), "127.0.0.1:0", m.Handler(service), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	m.Watch("store", monitor.Server(server))

	ln, err := net.Listen("tcp", "127.0.0.1:0") // for operators on this machine
	if err != nil {
		log.Fatal(err)
	}
	defer ln.Close()
	mux := http.NewServeMux()
	mux.Handle("/debug/rpcrdma", m)
	go http.Serve(ln, mux)

	conn, err := tcp.Dial(context.Background(), server.Addr(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	m.Watch("client", monitor.Conns(func() []*tcp.Conn { return []*tcp.Conn{conn} }))

	m.Look(monitor.Query{}) // as the page does each second: calls are recorded from now on
	carrier := m.Carrier(conn)
	for range 3 {
		call := &oncrpc.Call{Message: oncrpc.Message{Inline: callOf(carrier.XID(), 400, 2, 1)}}
		if _, err := carrier.Call(context.Background(), call); err != nil {
			log.Fatal(err)
		}
	}
	for _, p := range m.Look(monitor.Query{}).Procedures {
		fmt.Println(p.Name, p.Made, p.Outcomes)
	}
	// Unordered output:
	// STORE2 GET false map[SUCCESS:3]
	// STORE2 GET true map[SUCCESS:3]
}
