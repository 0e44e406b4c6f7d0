package setup

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// conduct handles a message on one of a scripted server's connections. It returns false to close
// the connection.
type conduct func(p *peertest.Peer, m []byte) bool

// ignores answers nothing.
func ignores(*peertest.Peer, []byte) bool { return true }

// drops closes the connection at the first message.
func drops(*peertest.Peer, []byte) bool { return false }

// refuses answers by ERR_VERS of version 1, with this range.
func refuses(low, high uint32) conduct {
	return func(p *peertest.Peer, m []byte) bool {
		b := append(slices.Clone(m[:8]), 0, 0, 0, 32, 0, 0, 0, 4, 0, 0, 0, 1)
		p.Send(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, low), high))
		return true
	}
}

// refusesAndDrops closes the connection after the ERR_VERS.
func refusesAndDrops(p *peertest.Peer, m []byte) bool {
	refuses(1, 1)(p, m)
	return false
}

// serves1 answers Calls of version 1, and the first word of other versions by ERR_VERS.
func serves1(p *peertest.Peer, m []byte) bool {
	if m[7] != 1 {
		return refuses(1, 1)(p, m)
	}
	b := append(slices.Clone(m[:8]), 0, 0, 0, 32)
	b = append(b, make([]byte, 16)...)
	p.Send(append(b, rpctest.ReplyHeader(binary.BigEndian.Uint32(m)).Buf...))
	return true
}

// scripted is a server whose connections follow a script. Its last entry serves all further
// connections.
type scripted struct {
	mu    sync.Mutex
	first []byte // version of each connection's first message
	peers []*peertest.Peer
}

// scriptedServer starts a scripted server for at most this many connections.
func scriptedServer(w *rdmaiotest.World, most int, list ...conduct) *scripted {
	w.T.Helper()
	ln, err := w.Server.Listen(context.Background(), w.ListenAddr)
	if err != nil {
		w.T.Fatal(err)
	}
	w.Addr = ln.Addr()
	s := new(scripted)
	peers := make([]*peertest.Peer, most)
	for i := range peers {
		peers[i] = peertest.New(w.T, w.Server)
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	w.T.Cleanup(func() {
		stop()
		_ = ln.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for i, p := range peers {
			req, err := ln.Accept(ctx)
			if err != nil {
				return
			}
			if _, err := req.Accept(ctx, p.QP, nil); err != nil {
				return
			}
			s.mu.Lock()
			s.peers = append(s.peers, p)
			s.mu.Unlock()
			wg.Go(func() { s.talk(p, list[min(i, len(list)-1)]) })
		}
	})
	return s
}

// talk runs one connection. It looks for the connection's end at least once a second: Message
// returns nil at once for each flushed Receive, so the wait would double to minutes.
func (s *scripted) talk(p *peertest.Peer, do conduct) {
	for n, wait := 0, 10*time.Millisecond; ; wait = min(2*wait, time.Second) {
		m := p.Message(wait)
		switch {
		case m != nil:
			wait = 5 * time.Millisecond
			if n++; n == 1 {
				s.mu.Lock()
				s.first = append(s.first, m[7])
				s.mu.Unlock()
			}
			if !do(p, m) {
				_ = p.QP.Disconnect()
				return
			}
			continue
		default:
		}
		select {
		case <-p.Lost:
			return
		default:
		}
	}
}

// begins returns the versions with which connections began.
func (s *scripted) begins() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.first)
}

// hangUp closes the last connection.
func (s *scripted) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.peers[len(s.peers)-1].QP.Disconnect()
}

// connEvents collects the versions of ConnUp and ConnFailed events.
type connEvents struct {
	mu     sync.Mutex
	up     []int // versions
	failed []int
}

func (e *connEvents) add(ev rdmaio.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch ev := ev.(type) {
	case *rdmaio.ConnUp:
		e.up = append(e.up, ev.Terms.Version)
	case *rdmaio.ConnFailed:
		e.failed = append(e.failed, ev.Version)
	}
}

// R189, R192, T99: a server that does not answer version 2, or breaks the connection, is reached by
// version 1 within the same Call. Further connections begin with version 1 until that is forgotten.
func TestServerOfVersion1IsRemembered(t *testing.T) {
	for _, tt := range []struct {
		name   string
		does   conduct
		failed []int // versions of the first Call's connections that failed
	}{
		{"no answer", ignores, []int{2}},
		{"lost before an answer", drops, []int{2}},
		{"lost after ERR_VERS", refusesAndDrops, nil},
	} {
		for _, forget := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := rdmaiotest.New(t)
					s := scriptedServer(w, 4, tt.does, serves1, serves1, serves1)
					var ev connEvents
					c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{
						Conn:         &rdmaio.Config{Versions: []int{2, 1}, Events: ev.add},
						DialFailures: -1, MinBackoff: time.Hour, MaxBackoff: time.Hour, IdleTimeout: -1,
					})
					call := func() {
						t.Helper()
						ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
						defer cancel()
						if _, err := c.Call(ctx, rpctest.NullCall(c.XID(), 40)); err != nil {
							t.Error(err)
						}
					}
					call()
					if !slices.Equal(ev.failed, tt.failed) || slices.Contains(ev.up, 2) {
						t.Errorf("connections failed with versions %v, were up with %v", ev.failed, ev.up)
					}
					if st := c.Stats(); st.VersionChanges != 1 || st.DialFailures != 0 {
						t.Errorf("%+v", st)
					}
					again := func() {
						t.Helper()
						s.hangUp()
						synctest.Wait()
						call()
					}
					time.Sleep(9 * time.Minute)
					again()
					if forget {
						c.ForgetVersion()
					} else {
						time.Sleep(2 * time.Minute)
					}
					again()
					if got := s.begins(); !slices.Equal(got, []byte{2, 1, 1, 2}) {
						t.Errorf("the connections began with versions %v", got)
					}
					if st := c.Stats(); st.VersionChanges != 1 || st.DialFailures != 0 {
						t.Errorf("%+v", st)
					}
				})
			})
		}
	}
}

// Without version 1, or without a memory, the next connection begins with version 2 again.
func TestVersion2IsTriedAgainWithoutMemory(t *testing.T) {
	for _, tt := range []struct {
		versions []int
		memory   time.Duration
	}{{[]int{2}, 0}, {[]int{2, 1}, -1}} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			s := scriptedServer(w, 3, ignores)
			c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Conn: &rdmaio.Config{Versions: tt.versions}, VersionMemory: tt.memory, DialFailures: 2})
			_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
			if !errors.Is(err, rdmaio.ErrNoAnswer) {
				t.Error(err)
			}
			if got := s.begins(); !slices.Equal(got, []byte{2, 2, 2}) {
				t.Errorf("the connections began with versions %v", got)
			}
			if st := c.Stats(); st.VersionChanges != 0 || st.DialFailures != 3 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// R185, R186: without a common version a Call fails, and the error has the server's range. A server
// that names the version that it has just refused costs a Call one more connection, not a loop.
func TestCallEndsWithoutACommonVersion(t *testing.T) {
	other := func(p *peertest.Peer, m []byte) bool {
		v := uint32(3 - m[7])
		return refuses(v, v)(p, m)
	}
	for _, tt := range []struct {
		name     string
		versions []int
		does     conduct
		begins   []byte
		common   bool
	}{
		{"version 1 only", []int{2}, refuses(1, 1), []byte{2}, false},
		{"later versions", []int{2, 1}, refuses(3, 9), []byte{2}, false},
		{"the other one each time", []int{1, 2}, other, []byte{1, 2}, true},
		{"both", []int{1, 2}, refuses(1, 2), []byte{1, 2}, true},
		{"low above high", []int{2, 1}, refuses(2, 1), []byte{2}, false},
	} {
		rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
			s := scriptedServer(w, 4, tt.does)
			c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Conn: &rdmaio.Config{Versions: tt.versions}})
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_, err := c.Call(ctx, rpctest.NullCall(c.XID(), 40))
			var pe *rdmaio.PeerError
			if errors.Is(err, rdmaio.ErrNoVersion) == tt.common || tt.common != (errors.As(err, &pe) && pe.Code == rdmaio.PeerErrVers) {
				t.Errorf("%s: %v", tt.name, err)
			}
			if got := s.begins(); !slices.Equal(got, tt.begins) {
				t.Errorf("%s: the connections began with versions %v", tt.name, got)
			}
		})
	}
}

// A Client learns from a Call of ClientConfig.Connected that a server of version 2 only refused, so
// the next connection begins with version 2.
func TestConnectedTeachesTheVersion(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(&rpctest.File{T: t}, &rdmaio.Config{Versions: []int{1, 2}})
	var begun []int
	c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{
		Conn: &rdmaio.Config{Versions: []int{1, 2}}, DialFailures: 2, MinBackoff: -1,
		Connected: func(_ context.Context, conn *rdmaio.Conn) error {
			version := conn.Terms().Version
			if begun = append(begun, version); version == 1 {
				return &rdmaio.PeerError{Version: 1, Code: rdmaio.PeerErrVers, Low: 2, High: 2}
			}
			return nil
		},
	})
	if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
		t.Error(err)
	}
	if !slices.Equal(begun, []int{1, 2}) {
		t.Errorf("the connections have versions %v, want 1 and then 2", begun)
	}
	if s := c.Stats(); s.VersionChanges != 1 || s.DialFailures != 0 {
		t.Errorf("%d changes of the version, want 1; %d failures to connect, want none: the next attempt has another version", s.VersionChanges, s.DialFailures)
	}
}
