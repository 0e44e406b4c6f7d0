package mem

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// NetworkConfig configures NewNetwork. A nil *NetworkConfig has the default in every field.
type NetworkConfig struct {
	// Server is the Config of the server. If nil, it has the default of every field, except that a
	// connection need not bring a message in any time.
	Server *tcp.Config

	// Fault is called for each record, in both directions, and returns its fault. It may be called
	// concurrently. If nil, there are no faults. See Random.
	Fault func(Record) Fault
}

// Network connects clients to one server within the process, and injects faults into their
// connections. All methods are safe for concurrent use.
type Network struct {
	server *tcp.Server
	fault  func(Record) Fault
	accept chan net.Conn
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // the goroutines of all links
	fired  [Kinds]atomic.Int64

	mu    sync.Mutex
	links int            // made so far
	up    map[*link]bool // that are not closed
}

// NewNetwork returns a network whose server is h. h must not be nil. cfg may be nil. The caller
// must Close the Network.
func NewNetwork(h oncrpc.Handler, cfg *NetworkConfig) (*Network, error) {
	var set NetworkConfig
	if cfg != nil {
		set = *cfg
	}
	if set.Server == nil {
		set.Server = &tcp.Config{FirstCallTimeout: -1}
	}
	n := &Network{fault: set.Fault, accept: make(chan net.Conn), up: make(map[*link]bool)}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	var err error
	n.server, err = tcp.Serve(listener{n}, h, set.Server)
	return n, err
}

// Dial connects a client to the server. It is a ClientConfig.Dial of package tcp; the address is
// not used. cfg may be nil. The caller must Close the connection.
func (n *Network) Dial(ctx context.Context, _ string, cfg *tcp.Config) (*tcp.Conn, error) {
	clientEnd, ours := net.Pipe()
	theirs, serverEnd := net.Pipe()
	l := &link{net: n, client: newEnd(ours), server: newEnd(theirs), ended: make(chan struct{})}
	l.ends = [2]*stream{{Conn: clientEnd, link: l}, {Conn: serverEnd, link: l}}
	select {
	case n.accept <- &serverStream{l.ends[1]}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-n.ctx.Done():
		return nil, oncrpc.ErrClosed
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l.number = n.links
	n.links++
	n.up[l] = true
	n.wg.Add(2)
	go l.carry(false)
	go l.carry(true)
	return tcp.NewConn(&clientStream{l.ends[0]}, cfg), nil
}

// NewClient returns a Client that connects over the network, and makes another connection when one
// is lost. cfg may be nil; its Dial is not used. The caller must Close the Client.
func (n *Network) NewClient(cfg *tcp.ClientConfig) (*tcp.Client, error) {
	var set tcp.ClientConfig
	if cfg != nil {
		set = *cfg
	}
	set.Dial = n.Dial
	return tcp.NewClient("", &set)
}

// Vanish makes the peer of each connection vanish, at both ends, as when the network between them
// is lost: no record arrives any more, and nothing is reported. Each end notices when its
// Config.PeerTimeout has passed, as over TCP. Later connections work.
func (n *Network) Vanish() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for l := range n.up {
		l.vanish()
	}
}

// forget removes a link that is closed.
func (n *Network) forget(l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.up, l)
}

// Server returns the server, for its Stats and Shutdown.
func (n *Network) Server() *tcp.Server { return n.server }

// Fired returns how many faults of a kind were injected. Check it, because a fault that never
// happened proves nothing.
func (n *Network) Fired(k Kind) int { return int(n.fired[k].Load()) }

// Close closes the server, with all connections, as tcp.Server.Close does.
func (n *Network) Close() error {
	err := n.server.Close()
	n.wg.Wait()
	return err
}

// listener is the net.Listener of the server.
type listener struct{ *Network }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l listener) Close() error {
	l.cancel()
	return nil
}

// Addr implements net.Listener.
func (listener) Addr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "mem" }
func (addr) String() string  { return "mem" }
