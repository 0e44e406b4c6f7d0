package locks

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// bytesOf is the number of bytes in the model: half of them at the begin of a file, half at the end
// of the largest. The last one of the first half stands for all bytes between the halves, too.
const bytesOf = 24

// span returns the range that bytes in the model stand for.
func span(from, to int) Range {
	r := Range{uint64(from), uint64(to)}
	if from >= bytesOf/2 {
		r.First = End - uint64(bytesOf-1-from)
	}
	if to >= bytesOf/2-1 {
		r.Last = End - uint64(bytesOf-1-to)
	}
	return r
}

// model has for each owner what it has of each byte: 0, 1 for shared and 2 for exclusive.
type model struct {
	held    map[int]*[bytesOf]int
	waiting []wish
	pending []wish
}

// wish is a request that waits, or was granted.
type wish struct {
	owner, from, to, mode int
	former                [bytesOf]int
	unsure                [bytesOf]bool // the owner has not called for the byte since
}

func (m *model) conflict(owner, from, to, mode int) bool {
	for other, held := range m.held {
		for i := from; i <= to; i++ {
			if other != owner && held[i] != 0 && held[i]+mode > 2 {
				return true
			}
		}
	}
	return false
}

func (m *model) set(owner, from, to, mode int) {
	for i := from; i <= to; i++ {
		m.held[owner][i] = mode
	}
}

// wake grants what conflicts with nothing, in order. A grant that makes bytes shared wakes others.
func (m *model) wake(from, to int) (granted []wish) {
	for freed := []wish{{from: from, to: to}}; len(freed) > 0; freed = freed[1:] {
		from, to := freed[0].from, freed[0].to
		m.waiting = slices.DeleteFunc(m.waiting, func(w wish) bool {
			if w.to < from || to < w.from || m.conflict(w.owner, w.from, w.to, w.mode) {
				return false
			}
			w.former = *m.held[w.owner]
			for i := w.from; i <= w.to; i++ {
				w.unsure[i] = true
			}
			m.set(w.owner, w.from, w.to, w.mode)
			m.pending = append(m.pending, w)
			granted = append(granted, w)
			if w.mode == 1 && slices.Contains(w.former[w.from:w.to+1], 2) {
				freed = append(freed, w)
			}
			return true
		})
	}
	return granted
}

func (m *model) forget(owner int, match func(wish) bool) {
	m.waiting = slices.DeleteFunc(m.waiting, func(w wish) bool { return w.owner == owner && match(w) })
}

func (m *model) know(owner, from, to int) {
	m.pending = slices.DeleteFunc(m.pending, func(w wish) bool {
		return w.owner == owner && w.from <= to && from <= w.to && !m.unsure(w, from, to)
	})
	m.trim(m.pending, owner, from, to)
}

// unsure reports whether a grant has bytes outside of a range that the owner has not called for.
func (m *model) unsure(w wish, from, to int) bool {
	for i := range bytesOf {
		if w.unsure[i] && (i < from || i > to) {
			return true
		}
	}
	return false
}

func (m *model) trim(pending []wish, owner, from, to int) {
	for i := range pending {
		for j := from; j <= to && pending[i].owner == owner; j++ {
			pending[i].unsure[j] = false
		}
	}
}

func (m *model) accept(i int) {
	m.trim(m.pending[:i], m.pending[i].owner, m.pending[i].from, m.pending[i].to)
	m.pending = slices.Delete(m.pending, i, i+1)
}

// revert gives each byte of a grant what it had before. A byte that was granted again since gets it
// when that is refused, too.
func (m *model) revert(i int) []wish {
	w := m.pending[i]
	m.pending = slices.Delete(m.pending, i, i+1)
	for j := w.from; j <= w.to; j++ {
		later := slices.IndexFunc(m.pending[i:], func(v wish) bool { return v.owner == w.owner && v.from <= j && j <= v.to })
		switch {
		case !w.unsure[j]:
		case later >= 0:
			m.pending[i+later].former[j] = w.former[j]
		case w.former[j] == 0 || !m.conflict(w.owner, j, j, w.former[j]):
			m.held[w.owner][j] = w.former[j]
		}
	}
	return m.wake(w.from, w.to)
}

// pair is the table with its model.
type pair struct {
	t       *testing.T
	table   *Table
	model   model
	granted []*Waiter
}

const modelOwners = 5

func newPair(t *testing.T) *pair {
	p := &pair{t: t, table: New(Limits{}), model: model{held: map[int]*[bytesOf]int{}}}
	for i := range modelOwners {
		p.model.held[i] = new([bytesOf]int)
	}
	return p
}

func request(owner, from, to, mode int) *Request {
	return &Request{
		Client: Client{"192.0.2.1", fmt.Sprint("host", owner%2)}, Source: "192.0.2.1", File: "file", SVID: int32(owner),
		Owner: "owner", Range: span(from, to), Exclusive: mode == 2,
	}
}

func same(w *Waiter, v wish) bool {
	return w.SVID == int32(v.owner) && w.Range == span(v.from, v.to) && w.Exclusive == (v.mode == 2)
}

// compare checks that the table grants what the model does, in its order.
func (p *pair) compare(step string, got []*Waiter, want []wish) {
	p.t.Helper()
	if !slices.EqualFunc(got, want, same) {
		p.t.Fatalf("%s granted %d requests, the model %v", step, len(got), want)
	}
	p.granted = append(p.granted, got...)
	p.granted = slices.DeleteFunc(p.granted, func(w *Waiter) bool { return !p.table.Pending(w) })
	if len(p.granted) != len(p.model.pending) {
		p.t.Fatalf("%s: %d are granted and not accepted, %d in the model", step, len(p.granted), len(p.model.pending))
	}
}

// step does one thing in both.
func (p *pair) step(what byte, owner, from, to, mode int) {
	m, q := &p.model, request(owner, from, to, mode)
	step := fmt.Sprintf("step %d of owner %d, bytes %d to %d, mode %d", what%8, owner, from, to, mode)
	equal := func(w wish) bool { return w.from == from && w.to == to && w.mode == mode }
	switch what % 8 {
	case 0, 1, 2: // LOCK, which waits in two of three
		var tag any
		if what%8 > 0 {
			tag = what
		}
		want := Granted
		var woken []wish
		switch waits := slices.ContainsFunc(m.waiting, func(w wish) bool { return w.owner == owner && equal(w) }); {
		case m.conflict(owner, from, to, mode) && tag == nil:
			want = Denied
		case m.conflict(owner, from, to, mode):
			want = Waiting
			if !waits {
				m.waiting = append(m.waiting, wish{owner: owner, from: from, to: to, mode: mode})
			}
		default:
			m.set(owner, from, to, mode)
			m.forget(owner, equal)
			m.know(owner, from, to)
			woken = m.wake(from, to)
		}
		got, granted, err := p.table.Lock(q, tag)
		if got != want || err != nil {
			p.t.Fatalf("%s: %v, %v, the model says %v", step, got, err, want)
		}
		p.compare(step, granted, woken)
	case 3, 4: // UNLOCK
		m.set(owner, from, to, 0)
		m.forget(owner, func(w wish) bool { return w.from == from && w.to == to })
		m.know(owner, from, to)
		woken := m.wake(from, to)
		granted, err := p.table.Unlock(q)
		if err != nil {
			p.t.Fatalf("%s: %v", step, err)
		}
		p.compare(step, granted, woken)
	case 5: // CANCEL
		m.forget(owner, equal)
		var woken []wish
		if i := slices.IndexFunc(m.pending, func(w wish) bool { return w.owner == owner && equal(w) }); i >= 0 {
			woken = m.revert(i)
		}
		p.compare(step, p.table.Cancel(q), woken)
	case 6: // the client accepts or refuses
		if len(m.pending) == 0 {
			return
		}
		i := from % len(m.pending)
		if w := p.granted[i]; !same(w, m.pending[i]) {
			p.t.Fatalf("%s: %+v is pending, the model has %+v", step, w.Request, m.pending[i])
		} else if to%2 == 0 {
			m.accept(i)
			p.table.Accepted(w)
			p.compare(step, nil, nil)
		} else {
			woken := m.revert(i)
			p.compare(step, p.table.Rejected(w), woken)
		}
	case 7: // the client starts again, rarely
		if from != 0 {
			return
		}
		for other := owner % 2; other < modelOwners; other += 2 {
			m.forget(other, func(wish) bool { return true })
			m.know(other, 0, bytesOf-1)
			m.set(other, 0, bytesOf-1, 0)
		}
		woken := m.wake(0, bytesOf-1)
		p.compare(step, p.table.Free(q.Client, 0), woken)
	}
}

// agree checks each byte for each owner by Test, and the table's own rules.
func (p *pair) agree() {
	p.t.Helper()
	for i := range bytesOf {
		for mode := 1; mode <= 2; mode++ {
			// An owner that has nothing is refused by each lock that is in the way.
			_, conflict := p.table.Test(request(100, i, i, mode))
			if want := p.model.conflict(100, i, i, mode); conflict != want {
				p.t.Fatalf("byte %d in mode %d: a conflict %v, the model says %v", i, mode, conflict, want)
			}
		}
	}
	for o, held := range p.model.held {
		var want []formerly
		for i, mode := range held {
			switch last := len(want) - 1; {
			case mode == 0:
			case last >= 0 && want[last].exclusive == (mode == 2) && want[last].Last+1 == span(i, i).First:
				want[last].Last = span(i, i).Last
			default:
				want = append(want, formerly{span(i, i), true, mode == 2})
			}
		}
		var got []formerly
		if own := p.table.find(request(o, 0, 0, 1)); own != nil {
			for _, n := range own.own.near(nil, Range{0, End}) {
				got = append(got, formerly{n.Range, true, n.exclusive})
			}
		}
		if !slices.Equal(got, want) {
			p.t.Fatalf("owner %d has %v, the model %v", o, got, want)
		}
	}
	for _, w := range p.model.waiting {
		if !p.model.conflict(w.owner, w.from, w.to, w.mode) {
			p.t.Fatalf("%+v waits for nothing", w)
		}
	}
	p.table.sound(p.t)
}

// run takes steps from text, five bytes for each.
func (p *pair) run(text []byte) {
	for ; len(text) >= 5; text = text[5:] {
		from, to := int(text[2])%bytesOf, int(text[3])%bytesOf
		if from > to {
			from, to = to, from
		}
		p.step(text[0], int(text[1])%modelOwners, from, to, 1+int(text[4])%2)
		p.agree()
	}
}

// end releases everything, after which nothing is left.
func (p *pair) end() {
	for i := range 2 {
		p.table.Free(Client{"192.0.2.1", fmt.Sprint("host", i)}, 0)
	}
	if t := p.table; len(t.files)+len(t.clients)+len(t.sources) > 0 || t.used != (usage{}) {
		p.t.Fatalf("after all clients are gone: %d files, %d clients, %d sources, %+v", len(t.files), len(t.clients), len(t.sources), t.used)
	}
}

// sound checks what holds between the parts of a table.
func (t *Table) sound(tt *testing.T) {
	tt.Helper()
	var all usage
	sources := map[*source]usage{}
	for name, f := range t.files {
		var total int
		waiters := map[*owner]int{}
		for _, w := range f.waiters {
			waiters[w.owner]++
		}
		for p, o := range f.owners {
			if p != o.process || o.file != f || !p.client.owners[o] || t.clients[p.client.Client] != p.client {
				tt.Fatalf("file %s has an owner that is not of the table", name)
			}
			if n := size(tt, o.own); n != o.ranges {
				tt.Fatalf("an owner has %d ranges and counts %d", n, o.ranges)
			}
			if waiters[o] != o.waiters || o.ranges+o.waiters+len(o.granted) == 0 {
				tt.Fatalf("an owner has %d waiters and counts %d, with %d ranges", waiters[o], o.waiters, o.ranges)
			}
			total += o.ranges
			u := sources[p.client.source]
			u.locks += o.ranges
			u.waiters += o.waiters + len(o.granted)
			sources[p.client.source] = u
		}
		for _, n := range f.all.near(nil, Range{0, End}) {
			if c := f.all.conflict(n.Range, n.owner, (&Request{Exclusive: n.exclusive}).kind()); c != nil {
				tt.Fatalf("file %s: %v, exclusive %v, and %v, exclusive %v, have two owners", name, n.Range, n.exclusive, c.Range, c.exclusive)
			}
		}
		if n := size(tt, f.all); n != total {
			tt.Fatalf("a file has %d ranges, its owners %d", n, total)
		}
	}
	for _, c := range t.clients {
		u := sources[c.source]
		u.clients++
		sources[c.source] = u
	}
	for s, u := range sources {
		if s.usage != u || t.sources[s.name] != s {
			tt.Fatalf("a source counts %+v, and has %+v", s.usage, u)
		}
		all.locks, all.waiters, all.clients = all.locks+u.locks, all.waiters+u.waiters, all.clients+u.clients
	}
	if all != t.used {
		tt.Fatalf("the table counts %+v, and has %+v", t.used, all)
	}
}

// size counts the nodes of a tree, and checks what each knows.
func size(t *testing.T, n *node) int {
	if n == nil {
		return 0
	}
	left, right := n.left, n.right
	for _, c := range []*node{left, right} {
		if c != nil && c.priority < n.priority {
			t.Fatal("a child is before its parent")
		}
	}
	total := 1 + size(t, left) + size(t, right)
	last, only := n.last, n.only
	if n.update(); last != n.last || only != n.only {
		t.Fatal("a node has wrong numbers about its subtree")
	}
	return total
}

// The table does what a model with a number for each byte does: results, the order in which those
// that wait are granted, and what each owner has at the end of each step.
func TestTableDoesAsTheModel(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := make([]byte, 5*120)
		for i := range text {
			text[i] = byte(r.Uint32())
		}
		p := newPair(t)
		p.run(text)
		p.end()
	}
}

// FuzzTable does any steps in the table and in the model.
//
//fuzz:floor 500 each step is followed by a look at every byte of every owner
func FuzzTable(f *testing.F) {
	f.Add([]byte{0, 0, 0, 9, 1, 1, 1, 3, 4, 1, 3, 0, 0, 9, 0})
	f.Add([]byte{0, 0, 0, 23, 0, 0, 1, 0, 23, 0, 2, 0, 4, 8, 1, 3, 1, 0, 23, 0, 6, 0, 0, 1, 0})
	f.Add([]byte{0, 0, 2, 20, 1, 1, 1, 0, 23, 1, 7, 0, 0, 0, 0, 5, 1, 0, 23, 1})
	f.Fuzz(func(t *testing.T, text []byte) {
		p := newPair(t)
		p.run(text[:min(len(text), 5*64)])
		p.end()
	})
}
