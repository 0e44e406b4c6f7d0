package locks

import (
	"fmt"
	"testing"
)

// bytesBy returns a request of a host's process for some bytes.
func bytesBy(host string, process int, first, last uint64, exclusive bool) *Request {
	q := by(host, process, first)
	q.Range, q.Exclusive = Range{first, last}, exclusive
	return q
}

// unlock calls UNLOCK, which grants a number of requests.
func unlock(t *testing.T, table *Table, q *Request, want int) []*Waiter {
	t.Helper()
	granted, err := table.Unlock(q)
	if err != nil || len(granted) != want {
		t.Fatalf("UNLOCK: %v, grants %d requests, expected %d", err, len(granted), want)
	}
	return granted
}

// finds checks whether a range conflicts for a host that has no locks.
func finds(t *testing.T, table *Table, first, last uint64, want bool) {
	t.Helper()
	table.sound(t)
	if _, conflict := table.Test(bytesBy("another", 1, first, last, true)); conflict != want {
		t.Errorf("bytes %d to %d: a conflict %v, expected %v", first, last, conflict, want)
	}
}

// An owner that refuses a shared lock has its former exclusive one again, except where another one
// has a shared lock since: there both are shared.
func TestRefusalTakesNoLockOfOthers(t *testing.T) {
	table := New(Limits{})
	lock(t, table, bytesBy("a", 1, 0, 10, true), nil, Granted, "")
	lock(t, table, bytesBy("b", 1, 15, 20, true), nil, Granted, "")
	lock(t, table, bytesBy("a", 1, 0, 20, false), true, Waiting, "")
	granted := unlock(t, table, bytesBy("b", 1, 15, 20, true), 1)
	lock(t, table, bytesBy("c", 1, 3, 5, false), nil, Granted, "")
	table.Rejected(granted[0])
	finds(t, table, 15, 20, false)
	for at, want := range []bool{true, true, true, false, false, false, true, true, true, true, true} {
		if _, conflict := table.Test(bytesBy("d", 1, uint64(at), uint64(at), false)); conflict != want {
			t.Errorf("byte %d is exclusive: %v, expected %v", at, conflict, want)
		}
	}
}

// Two grants of one owner overlap. The bytes of one that is accepted stay, and if both are refused,
// in any order, nothing stays.
func TestRefusalLeavesOtherGrants(t *testing.T) {
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		two := func() (*Table, []*Waiter) {
			table := New(Limits{})
			lock(t, table, bytesBy("b", 1, 0, 20, true), nil, Granted, "")
			lock(t, table, bytesBy("a", 1, 0, 10, true), true, Waiting, "")
			lock(t, table, bytesBy("a", 1, 5, 15, true), true, Waiting, "")
			return table, unlock(t, table, bytesBy("b", 1, 0, 20, true), 2)
		}
		table, granted := two()
		table.Accepted(granted[order[0]])
		table.Rejected(granted[order[1]])
		finds(t, table, 5, 10, true)
		finds(t, table, 0, 4, order[0] == 0)
		finds(t, table, 11, 15, order[0] == 1)
		table, granted = two()
		table.Rejected(granted[order[1]])
		table.Accepted(granted[order[0]])
		finds(t, table, 5, 10, true)
		finds(t, table, 0, 4, order[0] == 0)
		finds(t, table, 11, 15, order[0] == 1)
		table, granted = two()
		table.Rejected(granted[order[0]])
		finds(t, table, 5, 8, true)
		table.Rejected(granted[order[1]])
		finds(t, table, 0, 20, false)
	}
}

// A source has at most the ranges of its limit, also if it refuses what it was granted.
func TestRefusalsHaveTheLimitsOfLocks(t *testing.T) {
	const most = 10
	table := New(Limits{SourceLocks: most})
	for f := range 5 {
		mine := func(process int, first, last uint64) *Request {
			q := bytesBy("greedy", process, first, last, true)
			q.File = fmt.Sprint(f)
			return q
		}
		for i := range uint64(most) {
			_, _, _ = table.Lock(mine(1, 2*i, 2*i), nil)
		}
		unlock(t, table, mine(1, 0, 0), 0) // room for the other
		lock(t, table, mine(2, 1000, 1000), nil, Granted, "")
		lock(t, table, mine(1, 0, End), true, Waiting, "")
		granted := unlock(t, table, mine(2, 1000, 1000), 1)
		defer func() {
			table.Rejected(granted[0])
			table.sound(t)
			if n := table.sources["greedy"].locks; n > most {
				t.Errorf("%d ranges, the limit is %d", n, most)
			}
		}()
	}
}

// A call for a part of a grant says nothing about the rest, which may still be refused. A
// grant is cut by a call that leaves the owner less.
func TestCallForAPartOfAGrant(t *testing.T) {
	for _, tt := range []struct {
		name string
		call func(table *Table, q *Request) error
		cut  bool
	}{
		{"LOCK", func(table *Table, q *Request) error { _, _, err := table.Lock(q, nil); return err }, false},
		{"LOCK of a shared range", func(table *Table, q *Request) error {
			q.Exclusive = false
			_, _, err := table.Lock(q, nil)
			return err
		}, true},
		{"UNLOCK", func(table *Table, q *Request) error { _, err := table.Unlock(q); return err }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := New(Limits{})
			lock(t, table, bytesBy("b", 1, 0, 20, true), nil, Granted, "")
			lock(t, table, bytesBy("a", 1, 0, 10, true), true, Waiting, "")
			granted := unlock(t, table, bytesBy("b", 1, 0, 20, true), 1)
			if err := tt.call(table, bytesBy("a", 1, 8, 9, true)); err != nil {
				t.Fatal(err)
			}
			if !table.Pending(granted[0]) || table.Cut(granted[0]) != tt.cut {
				t.Errorf("pending %v, cut %v, expected %v", table.Pending(granted[0]), table.Cut(granted[0]), tt.cut)
			}
			table.Cancel(bytesBy("a", 1, 0, 10, true))
			finds(t, table, 0, 7, false)
			finds(t, table, 10, 10, false)
			finds(t, table, 8, 9, tt.name != "UNLOCK")
		})
	}
}

// A process after its client's start may have the number of one before. The former one's locks are
// released when it locks, and others get them. A request without a state is of any start.
func TestProcessNumberIsUsedAgain(t *testing.T) {
	table := New(Limits{})
	of := func(state int32, first, last uint64) *Request {
		q := bytesBy("a", 1, first, last, true)
		q.State = state
		return q
	}
	lock(t, table, of(1, 0, 10), nil, Granted, "")
	lock(t, table, of(0, 20, 20), nil, Granted, "")
	lock(t, table, bytesBy("b", 1, 0, 10, true), true, Waiting, "")
	res, granted, err := table.Lock(of(3, 50, 60), nil) // SM_NOTIFY comes later
	if res != Granted || len(granted) != 1 || granted[0].Host != "b" || err != nil {
		t.Fatalf("LOCK: %v, %v, %v", res, granted, err)
	}
	finds(t, table, 20, 20, false)
	table.Free(Client{"a", "name"}, 3)
	finds(t, table, 50, 60, true)
}
