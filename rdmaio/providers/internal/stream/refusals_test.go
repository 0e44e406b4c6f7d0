package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A server that closes without a byte may speak another protocol: the error says so. One that has
// answered speaks the framing.
func TestServerThatClosesAtOnceIsExplained(t *testing.T) {
	for _, answer := range []int{0, 3} {
		d := openToy(t, toyConfig(100))
		conn, there := recordedPipe(t)
		go func() {
			defer there.Close()
			if _, err := io.ReadFull(there, make([]byte, toyHello)); err == nil {
				there.Write(hello()[:answer])
			}
		}()
		_, err := d.DialConn(t.Context(), conn, toyQP(t, d), nil)
		if err == nil || strings.Contains(err.Error(), closedAtOnce("toy")) != (answer == 0) {
			t.Errorf("closed after %d bytes: %v", answer, err)
		}
	}
}

// A limit for each source that the caller sets holds for this machine, too. The default does not.
func TestOnlyASetLimitHoldsForThisMachine(t *testing.T) {
	here := admission.Source{Local: true}
	for most, want := range map[int]bool{-1: false, 0: false, 1: true, 100: true} {
		cfg := toyConfig(100)
		cfg.MaxPerSource = most
		d := openToy(t, cfg)
		n := 0
		for verdict := admission.Admitted; verdict == admission.Admitted && n <= 200; n++ {
			verdict, _ = d.accepted.Enter(here)
		}
		if limited := n == most+1; limited != want {
			t.Errorf("MaxPerSource %d: limits this machine: %v after %d connections, want %v", most, limited, n, want)
		}
	}
}

// A Write that must not overtake a Read whose response the peer does not take is refused, because
// the peer is slow.
func TestWriteBehindASlowReadIsRefused(t *testing.T) {
	w := newWired(t, func(c *Config) { c.SendTimeout = time.Millisecond })
	w.respond(t, 8)
	w.mu.Lock()
	w.sender.sending = true // the response is not written
	w.mu.Unlock()
	w.c.framer = &blaming{toyFramer: *w.f}
	w.peerSends(t, w.frame(8, KindWrite, toyLast, w.mr.RKey(), w.mr.RemoteAddr(), 8))
	if err := w.reader.readFrame(w.c); !errors.Is(err, verbs.ErrConnectionBroken) || !strings.Contains(err.Error(), "Config.SendTimeout") {
		t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last.Reason != ReasonSlow || w.last.Key != w.mr.RKey() || !w.last.AtHand {
		t.Errorf("reports %+v, want reason %d", w.last, ReasonSlow)
	}
	w.sender.sending, w.resp = false, ring[Response]{}
}

// session is a stream with a TLS session of a version.
type session struct {
	net.Conn
	version uint16
}

func (s session) ConnectionState() tls.ConnectionState {
	return tls.ConnectionState{Version: s.version, HandshakeComplete: true}
}

// Only a connected queue pair over TLS 1.3 has a channel binding, and one over any TLS has a state.
func TestChannelBindingNeedsTLS13(t *testing.T) {
	q, _ := loneQP(t)
	expect := func(what string, binding, state error) {
		t.Helper()
		if _, err := q.ChannelBinding(); !errors.Is(err, binding) {
			t.Errorf("%s: binding: %v, want %v", what, err, binding)
		}
		if _, err := q.TLSState(); !errors.Is(err, state) || (err == nil) != (state == nil) {
			t.Errorf("%s: state: %v, want %v", what, err, state)
		}
	}
	expect("not connected", verbs.ErrInvalidState, verbs.ErrInvalidState)
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	q.conn.Store(&Conn{dev: q.dev, conn: here})
	expect("without TLS", verbs.ErrNotSupported, verbs.ErrNotSupported)
	q.conn.Store(&Conn{dev: q.dev, conn: session{here, tls.VersionTLS12}})
	expect("TLS 1.2", verbs.ErrNotSupported, nil)
}

// Accept of a closed listener reports that, also with a context that is canceled.
func TestAcceptOfAClosedListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, nil)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.listener.Accept(canceled); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want %v", err, context.Canceled)
		}
		l.Close()
		for range 50 {
			if _, err := l.listener.Accept(canceled); !errors.Is(err, verbs.ErrClosed) {
				t.Fatalf("%v, want %v", err, verbs.ErrClosed)
			}
		}
	})
}
