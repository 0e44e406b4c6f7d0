package rdmaio

import (
	"errors"
	"slices"
	"testing"
)

// creditedLinks returns connections with these numbers of credits.
func creditedLinks(t *testing.T, credits ...int) (s links, scripts []*script) {
	t.Helper()
	s.most = len(credits)
	for _, n := range credits {
		conn, script := scriptedConn(t, 1, nil)
		conn.set.calls, script.credits = 100, n
		refresh(conn)
		s.all, scripts = append(s.all, &link{conn: conn}), append(scripts, script)
	}
	return s, scripts
}

// taken returns the numbers of the connections that so many further Calls get, -1 for none.
func (s *links) taken(n int) (list []int) {
	for range n {
		list = append(list, slices.Index(s.all, s.take()))
	}
	return list
}

// A Call gets the connection with the fewest Calls, of those that are up and have a credit.
func TestLinksChoose(t *testing.T) {
	s, _ := creditedLinks(t, 2, 1, 3)
	if got := s.taken(7); !slices.Equal(got, []int{0, 1, 2, 0, 2, 2, -1}) {
		t.Errorf("the Calls are on the connections %v", got)
	}
	s, _ = creditedLinks(t, 9, 9)
	s.all[0].conn.set.calls = 1
	if got := s.taken(4); !slices.Equal(got, []int{0, 1, 1, 1}) {
		t.Errorf("with Config.Credits 1 the Calls are on the connections %v", got)
	}
	s.all[0].users = 0
	s.all[0].conn.cancel(errors.New("lost"))
	if got := s.taken(1); !slices.Equal(got, []int{1}) || !s.isUp() {
		t.Errorf("after the first has ended a Call is on connection %v", got)
	}
	s.all[1].conn.cancel(errors.New("lost"))
	if got := s.taken(1); !slices.Equal(got, []int{-1}) || s.isUp() {
		t.Errorf("after both have ended a Call is on connection %v", got)
	}
	s, _ = creditedLinks(t, 1)
	if got := s.taken(3); !slices.Equal(got, []int{0, 0, 0}) || s.all[0].users != 3 {
		t.Errorf("the Calls are on the connections %v, want the only one, where they wait for credits", got)
	}
	if s.all[0].conn.cancel(errors.New("lost")); s.take() != nil {
		t.Error("a Call is on the only connection, which has ended")
	}
}

// The queue is served from its head, as far as there are credits, and Calls that left are not in
// it.
func TestLinksServeInOrder(t *testing.T) {
	s, scripts := creditedLinks(t, 0, 0)
	var calls []*waiter
	for range 6 {
		calls = append(calls, s.wait())
	}
	s.leave(calls[1])
	s.leave(calls[0])
	s.leave(calls[0])
	for credits, want := range [][]int{{}, {2}, {2, 3, 4}, {2, 3, 4, 5}} {
		scripts[1].credits = []int{0, 1, 3, 9}[credits]
		refresh(s.all[1].conn)
		s.serve()
		got := []int{}
		for i, w := range calls {
			select {
			case <-w.ready:
				got = append(got, i)
				if w.link != s.all[1] {
					t.Errorf("Call %d is on a connection without a credit", i)
				}
			default:
				if w.link != nil {
					t.Errorf("Call %d has a connection and does not know", i)
				}
			}
		}
		if !slices.Equal(got, want) || s.all[1].users != len(want) || len(s.queue) != 4-len(want) {
			t.Errorf("served are %v, want %v; %d count on the connection, %d wait", got, want, s.all[1].users, len(s.queue))
		}
	}
}

// A connection is dropped once.
func TestLinksDropOnce(t *testing.T) {
	s, scripts := creditedLinks(t, 1, 1, 1)
	all := slices.Clone(s.all)
	for _, i := range []int{0, 2} {
		if !s.drop(all[i]) || s.drop(all[i]) || s.of(all[i].conn) != nil {
			t.Errorf("connection %d must be dropped once", i)
		}
	}
	if s.drop(&link{}) || !slices.Equal(s.all, all[1:2]) || s.of(all[1].conn) != all[1] {
		t.Errorf("%d connections are left, want the second", len(s.all))
	}
	if all[1].isUseful() {
		t.Error("a connection without a reply is useful")
	}
	scripts[1].stats.Replies = 1
	if refresh(all[1].conn); !all[1].isUseful() {
		t.Error("a connection with a reply is useless")
	}
}
