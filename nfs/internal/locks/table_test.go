package locks

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// by returns a request of a host's process for one byte.
func by(host string, process int, at uint64) *Request {
	return &Request{Client: Client{host, "name"}, Source: host, File: "file", SVID: int32(process), Range: Range{at, at}, Exclusive: true}
}

func lock(t *testing.T, table *Table, q *Request, tag any, want Result, limit string) {
	t.Helper()
	got, _, err := table.Lock(q, tag)
	var beyond *LimitError
	if errors.As(err, &beyond) != (limit != "") || limit != "" && beyond.Limit != limit || got != want {
		t.Fatalf("%+v: %v, %v, expected %v and the limit %q", q, got, err, want, limit)
	}
	table.sound(t)
}

// A source that never releases its locks reaches its limits, which are named. Others are served
// until the limits of all are reached, and what a source has stays.
func TestLimitsAreNamed(t *testing.T) {
	table := New(Limits{Locks: 6, SourceLocks: 4, Waiters: 3, SourceWaiters: 2, Clients: 5, SourceClients: 2})
	for i := range 4 {
		lock(t, table, by("greedy", 1, uint64(2*i)), nil, Granted, "")
	}
	lock(t, table, by("greedy", 1, 100), nil, Denied, "SourceLocks")
	lock(t, table, by("greedy", 1, 6), nil, Granted, "") // it has that one
	lock(t, table, by("greedy", 1, 5), nil, Granted, "") // joins two
	lock(t, table, by("other", 1, 50), nil, Granted, "")
	lock(t, table, by("other", 1, 60), nil, Granted, "")
	lock(t, table, by("other", 1, 70), nil, Granted, "")
	lock(t, table, by("other", 1, 80), nil, Denied, "Locks")
	for i := range 2 {
		lock(t, table, by("greedy", 10+i, 50), true, Waiting, "")
	}
	lock(t, table, by("greedy", 10, 50), true, Waiting, "") // the same request
	lock(t, table, by("greedy", 20, 50), true, Denied, "SourceWaiters")
	lock(t, table, by("third", 1, 50), true, Waiting, "")
	lock(t, table, by("fourth", 1, 50), true, Denied, "Waiters")
	named := func(host, name string) *Request {
		q := by(host, 1, 50)
		q.Name = name
		return q
	}
	lock(t, table, named("greedy", "a"), nil, Denied, "") // is not kept
	whole := by("greedy", 1, 0)
	whole.Range = Range{0, End}
	if _, err := table.Unlock(whole); err != nil {
		t.Fatal(err)
	}
	second := named("greedy", "a")
	second.Range = Range{200, 200}
	lock(t, table, second, nil, Granted, "")
	third := named("greedy", "b")
	third.Range = Range{300, 300}
	lock(t, table, third, nil, Denied, "SourceClients")
	lock(t, table, by("fourth", 1, 400), nil, Granted, "")
	lock(t, table, by("fifth", 1, 500), nil, Denied, "Clients")
	if text := (&LimitError{"Locks", 6, "host"}).Error(); text != "locks: a request of host exceeds Locks, 6: a client keeps locks that it does not release, or the limit is too low" {
		t.Error(text)
	}
}

// An UNLOCK that splits a range has the limits of locks. It is refused, and the range stays.
func TestSplitHasTheLimitsOfLocks(t *testing.T) {
	table := New(Limits{SourceLocks: 1})
	whole := by("host", 1, 0)
	whole.Range = Range{0, End}
	lock(t, table, whole, nil, Granted, "")
	var beyond *LimitError
	if _, err := table.Unlock(by("host", 1, 5)); !errors.As(err, &beyond) || beyond.Limit != "SourceLocks" {
		t.Fatalf("a split: %v", err)
	}
	if _, conflict := table.Test(by("other", 1, 5)); !conflict {
		t.Error("the range is free after a refused UNLOCK")
	}
	if _, err := table.Unlock(by("host", 1, 0)); err != nil {
		t.Errorf("UNLOCK of the first byte: %v", err)
	}
	table.sound(t)
}

// The test for a lock says whose it is.
func TestConflictNamesTheHolder(t *testing.T) {
	table := New(Limits{})
	lock(t, table, by("host", 7, 3), nil, Granted, "")
	held, conflict := table.Test(by("other", 7, 3))
	if want := (Held{Range{3, 3}, true, 7, Client{"host", "name"}}); !conflict || held != want {
		t.Errorf("found %+v, %v, expected %+v", held, conflict, want)
	}
	if _, conflict := table.Test(by("host", 7, 3)); conflict {
		t.Error("an owner is in its own way")
	}
}

// A client that has started again keeps what it has locked since: its requests name the start.
func TestLocksAfterAClientsStartStay(t *testing.T) {
	table := New(Limits{})
	before, after := by("host", 1, 1), by("host", 2, 2)
	before.State, after.State = 3, 5
	lock(t, table, before, nil, Granted, "")
	lock(t, table, after, nil, Granted, "")
	lock(t, table, by("other", 1, 1), true, Waiting, "")
	if granted := table.Free(before.Client, 5); len(granted) != 1 || granted[0].Host != "other" {
		t.Errorf("the end of a client grants %v", granted)
	}
	if _, conflict := table.Test(by("other", 1, 2)); !conflict {
		t.Error("the lock that the client took after its start is gone")
	}
	if n := len(table.Clients()); n != 2 {
		t.Errorf("%d clients, expected 2", n)
	}
	table.sound(t)
}

// A client that took its lock by a repeated request, before its answer to GRANTED came, keeps the
// lock if the answer is a refusal: it waits no more.
func TestLateRefusalDoesNotTakeTheLock(t *testing.T) {
	table := New(Limits{})
	lock(t, table, by("a", 1, 1), nil, Granted, "")
	lock(t, table, by("b", 1, 1), true, Waiting, "")
	granted, err := table.Unlock(by("a", 1, 1))
	if err != nil || len(granted) != 1 || !table.Pending(granted[0]) {
		t.Fatalf("%v, %v", granted, err)
	}
	lock(t, table, by("b", 1, 1), true, Granted, "")
	if table.Pending(granted[0]) {
		t.Error("the owner has called, and the request is still pending")
	}
	if more := table.Rejected(granted[0]); len(more) > 0 {
		t.Error(more)
	}
	if _, conflict := table.Test(by("c", 1, 1)); !conflict {
		t.Error("the lock is gone")
	}
}

// n locks cost at most n log n: one owner's, and those that have an owner each.
func TestManyLocksCostLittle(t *testing.T) {
	for _, tt := range []struct {
		name  string
		owner func(i int) int
	}{{"one owner", func(int) int { return 1 }}, {"an owner for each", func(i int) int { return i }}} {
		t.Run(tt.name, func(t *testing.T) {
			run := func(n int) func() {
				return func() {
					table := New(Limits{SourceLocks: -1, Locks: -1})
					for i := range n {
						at := uint64(n-i) * 2 // each before all others
						q := by("host", tt.owner(i), at)
						if res, _, err := table.Lock(q, nil); res != Granted || err != nil {
							t.Fatal(res, err)
						}
						if _, conflict := table.Test(by("other", 1, at)); !conflict {
							t.Fatal("no conflict")
						}
						whole := by("host", tt.owner(i), 0)
						whole.Range = Range{0, at}
						if _, conflict := table.Test(whole); conflict {
							t.Fatal("an owner is in its own way")
						}
					}
					if granted := table.Free(Client{"host", "name"}, 0); len(granted) > 0 || table.used.locks > 0 {
						t.Fatal("locks remain")
					}
				}
			}
			// The shortest times of some runs, because other processes take time, too. For 16 times
			// as many locks n log n is 22 times as long, and n squared 256 times.
			const n = 1000
			best := map[int]time.Duration{n: time.Hour, 2 * n: time.Hour, 4 * n: time.Hour, 16 * n: time.Hour}
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			for range 20 {
				runtime.GC()
				for many := range best {
					start := time.Now()
					run(many)()
					best[many] = min(best[many], time.Since(start))
				}
				if best[16*n] < 120*best[n] {
					t.Logf("%v", best)
					return
				}
			}
			t.Errorf("%v: %d locks take more than 120 times as long as %d", best, 16*n, n)
		})
	}
}

// The memory of a lock is bounded, whatever its client calls its process.
func TestMemoryOfLocks(t *testing.T) {
	const n = 50_000
	table := New(Limits{SourceLocks: -1})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range n {
		q := by("host", i, uint64(2*i))
		q.Owner = fmt.Sprint(i)
		if res, _, err := table.Lock(q, nil); res != Granted || err != nil {
			t.Fatal(res, err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapAlloc - before.HeapAlloc) / n
	t.Logf("%d bytes for a lock with its owner", each)
	if each > 1000 {
		t.Errorf("a lock takes %d bytes, expected at most 1000", each)
	}
	runtime.KeepAlive(table)
}
