package gss

import (
	"testing"
	"testing/synctest"
	"time"
)

// counted is a context that counts its deletions.
type counted struct {
	Context
	deleted int
}

func (c *counted) Delete() { c.deleted++ }

// put adds a context of a source to a table.
func put(t *table, source string) *session {
	s := &session{handle: newHandle(), source: source, mech: new(counted)}
	t.add(s)
	return s
}

// there checks which contexts a table has, and that each of the others was deleted once.
func there(t *testing.T, tab *table, all []*session, want ...*session) {
	t.Helper()
	for i, s := range all {
		wanted := false
		for _, w := range want {
			wanted = wanted || w == s
		}
		deleted := s.mech.(*counted).deleted
		if _, ok := tab.sessions[s.handle]; ok != wanted || wanted && deleted != 0 || !wanted && deleted != 1 {
			t.Errorf("context %d of %s: there %v, want %v, deleted %d times", i, s.source, ok, wanted, deleted)
		}
	}
	if n, _ := tab.count(); n != len(want) || tab.recent.Len() != n {
		t.Errorf("%d contexts, %d in their order, want %d", n, tab.recent.Len(), len(want))
	}
}

// A source at its limit loses the context that was unused longest, not the oldest one. If the table
// is full, the source with the most contexts loses one.
func TestUnusedLongestGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := newTable(5, 3, 0)
		var all []*session
		add := func(source string) *session {
			time.Sleep(time.Second)
			all = append(all, put(tab, source))
			return all[len(all)-1]
		}
		use := func(s *session) {
			time.Sleep(time.Second)
			if tab.acquire(s.handle[:]) != s {
				t.Fatal("not found")
			}
			tab.touch(s)
			tab.release(s)
		}
		a1, a2, a3 := add("a"), add("a"), add("a")
		there(t, tab, all, a1, a2, a3)
		use(a1)
		a4 := add("a") // a2 goes
		there(t, tab, all, a1, a3, a4)
		b1, b2 := add("b"), add("b")
		there(t, tab, all, a1, a3, a4, b1, b2)
		use(a3)
		c1 := add("c") // a has most: a1 goes
		there(t, tab, all, a3, a4, b1, b2, c1)
		use(a4)
		c2 := add("c") // a and b have as many: b1 was unused longest
		there(t, tab, all, a3, a4, b2, c1, c2)
		if tab.removed != 3 {
			t.Errorf("%d were removed by a limit, want 3", tab.removed)
		}
		// No time is a limit here.
		time.Sleep(1000 * time.Hour)
		there(t, tab, all, a3, a4, b2, c1, c2)
	})
}

// A context that was unused for the table's life is removed, and so is its source.
func TestUnusedExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := newTable(10, 10, time.Minute)
		a := put(tab, "a")
		b := put(tab, "b")
		time.Sleep(59 * time.Second)
		tab.touch(b)
		time.Sleep(2 * time.Second)
		if tab.acquire(a.handle[:]) != nil {
			t.Error("an old context is found")
		}
		there(t, tab, []*session{a, b}, b)
		if len(tab.sources) != 1 {
			t.Errorf("%d sources, want 1", len(tab.sources))
		}
		time.Sleep(30 * time.Second)
		c := put(tab, "a")
		time.Sleep(31 * time.Second)
		tab.count()
		there(t, tab, []*session{a, b, c}, c) // it was made later
		tab.remove(c)
		if tab.take(b.handle[:]) != nil {
			t.Error("an old context is taken")
		}
		there(t, tab, []*session{a, b})
		if len(tab.sources) != 0 {
			t.Errorf("%d sources, want none", len(tab.sources))
		}
	})
}

// A context that is removed while calls use it is deleted at the end of the last one, and once.
func TestRemovedWhileInUse(t *testing.T) {
	tab := newTable(10, 10, time.Hour)
	s := put(tab, "a")
	mech := s.mech.(*counted)
	for range 2 {
		if tab.acquire(s.handle[:]) != s {
			t.Fatal("not found")
		}
	}
	if !tab.remove(s) || tab.remove(s) || tab.acquire(s.handle[:]) != nil {
		t.Error("removed twice, or found afterwards")
	}
	tab.touch(s) // a call that was verified before
	tab.release(s)
	if mech.deleted != 0 {
		t.Error("deleted in use")
	}
	tab.release(s)
	if mech.deleted != 1 {
		t.Errorf("deleted %d times", mech.deleted)
	}
	unused := put(tab, "a")
	tab.remove(unused)
	taken := put(tab, "b")
	if tab.take(taken.handle[:]) != taken || tab.take(taken.handle[:]) != nil {
		t.Error("not taken once")
	}
	tab.add(taken)
	there(t, tab, []*session{s, unused, taken}, taken)
	for _, b := range [][]byte{nil, make([]byte, 15), make([]byte, 16), append(taken.handle[:], 0)} {
		if tab.acquire(b) != nil || tab.take(b) != nil {
			t.Errorf("%x is a handle", b)
		}
	}
}

// A context is kept for the whole of its life, and no longer.
func TestContextIsKeptForItsWholeLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := newTable(10, 10, time.Minute)
		put(tab, "a")
		time.Sleep(time.Minute)
		if n, _ := tab.count(); n != 1 {
			t.Errorf("%d contexts after exactly their life, want 1", n)
		}
		time.Sleep(1)
		if n, _ := tab.count(); n != 0 {
			t.Errorf("%d contexts after more than their life, want none", n)
		}
	})
}
