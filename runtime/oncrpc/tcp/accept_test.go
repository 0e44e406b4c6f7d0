package tcp_test

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// eager is a listener that always has a further connection, up to a number. It counts those that
// the server has accepted and not yet read from.
type eager struct {
	left    int
	unread  atomic.Int64
	most    int64
	closed  chan struct{}
	drained chan struct{}
	once    sync.Once
}

// watched is one of its connections.
type watched struct {
	net.Conn
	of   *eager
	once sync.Once
}

func (w *watched) Read(b []byte) (int, error) {
	w.once.Do(func() { w.of.unread.Add(-1) })
	return w.Conn.Read(b)
}

func (l *eager) Accept() (net.Conn, error) {
	if l.left == 0 {
		l.once.Do(func() { close(l.drained) })
		<-l.closed
		return nil, net.ErrClosed
	}
	l.left--
	ours, theirs := net.Pipe()
	_ = theirs // the server closes the pipe
	l.most = max(l.most, l.unread.Add(1))
	return &watched{Conn: ours, of: l}, nil
}

func (l *eager) Close() error   { close(l.closed); return nil }
func (l *eager) Addr() net.Addr { return address("eager") }

// A server accepts a connection after it has served those that it has, and not before: with clients
// that come and go without a pause, the others would wait for thousands of goroutines.
func TestConnectionsComeAfterThoseThatAreThere(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l := &eager{left: 2000, closed: make(chan struct{}), drained: make(chan struct{})}
	s, err := tcp.Serve(l, always, &tcp.Config{AcceptRate: -1, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	<-l.drained
	if l.most > 30 {
		t.Errorf("%d connections were accepted that the server had not read from", l.most)
	}
	_ = s.Close()
}
