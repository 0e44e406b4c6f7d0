package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// program is the one that is called.
var program = []oncrpc.Program{{Number: 0x20000300, Version: 1, Name: "SLOW", Procedures: map[uint32]string{1: "CALL"}}}

// cause is a way in which calls are slow.
type cause struct {
	name     string
	overRDMA bool
	credits  int           // over RDMA
	register time.Duration // that each registration takes longer
	handlers int           // at a time, over TCP
	handler  time.Duration // that the handler takes
	delay    time.Duration // that the network takes, in each direction
	slowly   bool          // the network takes 128 KiB each millisecond
	args     int           // bytes
	reply    int
	depth    int // calls at a time
	total    int
}

var causes = []cause{
	{name: "nothing", depth: 1, total: 50},
	{name: "credits", overRDMA: true, credits: 1, handler: 5 * time.Millisecond, depth: 8, total: 40},
	{name: "registration", overRDMA: true, credits: 8, register: 20 * time.Millisecond, args: 64 << 10, depth: 1, total: 10},
	{name: "arguments", slowly: true, args: 12 << 20, depth: 1, total: 3},
	{name: "network", delay: 20 * time.Millisecond, depth: 1, total: 10},
	{name: "queue", handlers: 1, handler: 5 * time.Millisecond, depth: 8, total: 40},
	{name: "handler", handler: 20 * time.Millisecond, depth: 1, total: 10},
	{name: "reply", slowly: true, reply: 12 << 20, depth: 1, total: 3},
}

func causeOf(name string) *cause {
	for i := range causes {
		if causes[i].name == name {
			return &causes[i]
		}
	}
	return nil
}

func names() (all []string) {
	for _, c := range causes {
		all = append(all, c.name)
	}
	return all
}

// setup is a server and a client for a cause.
type setup struct {
	*cause
	carrier oncrpc.Carrier
	closers []io.Closer // the last one first
}

func (s *setup) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		_ = s.closers[i].Close()
	}
}

// start starts the server and connects to it.
func (c *cause) start(ctx context.Context, m *monitor.Monitor) (s *setup, err error) {
	s = &setup{cause: c}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	h := m.Handler(oncrpc.HandlerFunc(c.serve))
	if c.overRDMA {
		device, err := rdmatcp.Open(nil)
		if err != nil {
			return s, err
		}
		s.closers = append(s.closers, device)
		server, err := rdmaio.Listen(ctx, device, "127.0.0.1:0", h, &rdmaio.Config{Credits: c.credits})
		if err != nil {
			return s, err
		}
		s.closers = append(s.closers, server)
		m.Watch("server", monitor.Server(server))
		slow := fault.Config{}
		if c.register > 0 {
			slow = fault.Config{Manners: fault.SlowRegister, RegisterDelay: c.register}
		}
		near := fault.New(slow).Device(device)
		conn, err := rdmaio.Dial(ctx, near, server.Addr(), &rdmaio.Config{Credits: c.credits})
		if err != nil {
			return s, err
		}
		s.closers, s.carrier = append(s.closers, conn), m.Carrier(conn)
		m.Watch("client", monitor.Conns(func() []*rdmaio.Conn { return []*rdmaio.Conn{conn} }))
		return s, nil
	}
	server, err := tcp.Listen(ctx, "127.0.0.1:0", h, &tcp.Config{MaxHandlers: c.handlers})
	if err != nil {
		return s, err
	}
	s.closers = append(s.closers, server)
	m.Watch("server", monitor.Server(server))
	between, err := newRelay(server.Addr(), c.delay, c.slowly)
	if err != nil {
		return s, err
	}
	s.closers = append(s.closers, between)
	conn, err := tcp.Dial(ctx, between.Addr().String(), nil)
	if err != nil {
		return s, err
	}
	s.closers, s.carrier = append(s.closers, conn), m.Carrier(conn)
	m.Watch("client", monitor.Conns(func() []*tcp.Conn { return []*tcp.Conn{conn} }))
	return s, nil
}

// serve is the handler.
func (c *cause) serve(r *oncrpc.Request) {
	time.Sleep(c.handler)
	xid, _, _ := oncrpc.Peek(r.Message)
	reply, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
	r.Reply(withData(reply, c.reply), nil)
}

// withData returns a message that ends with opaque data for RDMA to place.
func withData(b []byte, n int) oncrpc.Message {
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	m := oncrpc.Message{Inline: b}
	if n > 0 {
		m.Items = []xdr.Item{{Position: uint64(len(b)), Inline: len(b), Data: make([]byte, n)}}
	}
	return m
}

// calls makes a number of calls, some at a time.
func (s *setup) calls(ctx context.Context, total int) error {
	var wg sync.WaitGroup
	errs := make([]error, s.depth)
	for i := range s.depth {
		wg.Go(func() {
			for range total / s.depth {
				header, err := oncrpc.NewCall(s.carrier.XID(), program[0].Number, 1, 1, oncrpc.None()).AppendBinary(nil)
				if err == nil {
					_, err = s.carrier.Call(ctx, &oncrpc.Call{Message: withData(header, s.args), MaxReply: -1})
				}
				if err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// relay is a network between a client and a server.
type relay struct {
	net.Listener
	to     string
	delay  time.Duration
	slowly bool
}

func newRelay(to string, delay time.Duration, slowly bool) (*relay, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{ln, to, delay, slowly}
	go r.run()
	return r, nil
}

// run passes on the bytes of one client and the server.
func (r *relay) run() {
	near, err := r.Accept()
	if err != nil {
		return
	}
	defer near.Close()
	far, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer far.Close()
	over := make(chan struct{}, 2)
	go r.pass(near, far, over)
	go r.pass(far, near, over)
	<-over
}

// pass passes on the bytes of one side.
func (r *relay) pass(from, to net.Conn, over chan<- struct{}) {
	defer func() { over <- struct{}{} }()
	if r.slowly {
		_ = from.(*net.TCPConn).SetReadBuffer(128 << 10)
	}
	b := make([]byte, 128<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		time.Sleep(r.delay)
		if r.slowly {
			time.Sleep(time.Millisecond)
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
