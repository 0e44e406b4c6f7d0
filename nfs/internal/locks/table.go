package locks

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// Client names a client. The server knows its Host. The client says its Name, and may say any.
type Client struct{ Host, Name string }

// Request is a lock that a client asks for.
type Request struct {
	Client
	Source string // to which the limits apply
	File   string
	SVID   int32  // the process, with Owner
	Owner  string // what the client calls the process
	State  int32  // the number of the client's start, or zero
	Range
	Exclusive bool
}

// Held is a lock that is in the way of another one.
type Held struct {
	Range
	Exclusive bool
	SVID      int32
	Client    Client
}

// Table has the locks of all clients. All methods are safe for concurrent use.
type Table struct {
	mu      sync.Mutex
	limits  Limits
	rand    *rand.Rand
	files   map[string]*file
	clients map[Client]*client
	sources map[string]*source
	used    usage
	owners  uint64 // that there were
}

// source is a host, or a network of hosts, that has limits.
type source struct {
	name string
	usage
}

// client has locks, or waits for some.
type client struct {
	Client
	source *source
	owners map[*owner]bool
}

// file is locked, or waited for.
type file struct {
	name    string
	all     *node
	owners  map[process]*owner
	waiters []*Waiter // in the order in which they came
}

// process is the key of an owner in its file.
type process struct {
	client *client
	svid   int32
	owner  string
}

// owner has the locks and waiting requests of one process for one file.
type owner struct {
	id      uint64
	process process
	file    *file
	state   int32
	own     *node // its ranges: disjoint, and two that touch differ in kind
	ranges  int
	waiters int       // in file.waiters
	granted []*Waiter // that are neither accepted nor rejected
}

// New returns an empty Table.
func New(limits Limits) *Table {
	return &Table{
		limits: limits.settled(), rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		files: map[string]*file{}, clients: map[Client]*client{}, sources: map[string]*source{},
	}
}

// Test returns a lock that is in the way of a request, if there is one.
func (t *Table) Test(q *Request) (held Held, conflict bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.files[q.File]
	if f == nil {
		return held, false
	}
	n := f.all.conflict(q.Range, t.find(q), q.kind())
	if n == nil {
		return held, false
	}
	p := n.owner.process
	return Held{n.Range, n.exclusive, p.svid, p.client.Client}, true
}

// May reports whether Lock may succeed or let a request wait, which changes nothing. The error is a
// LimitError about clients.
func (t *Table) May(q *Request, wait bool) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.files[q.File]; !wait && f != nil && f.all.conflict(q.Range, t.find(q), q.kind()) != nil {
		return false, nil
	}
	if t.clients[q.Client] != nil {
		return true, nil
	}
	s := t.sources[q.Source]
	if s == nil {
		s = &source{name: q.Source}
	}
	err := t.room(s, usage{clients: 1})
	return err == nil, err
}

// kind returns the locks that a request conflicts with.
func (q *Request) kind() int {
	if q.Exclusive {
		return allLocks
	}
	return exclusiveLocks
}

// find returns the owner of a request, or nil.
func (t *Table) find(q *Request) *owner {
	c, f := t.clients[q.Client], t.files[q.File]
	if c == nil || f == nil {
		return nil
	}
	return f.owners[process{c, q.SVID, q.Owner}]
}

// open returns the owner of a request, and adds it if necessary. The caller then calls settle. What
// the owner has from another start of its client is released, for it is not the same process: open
// returns the requests that are granted by that.
func (t *Table) open(q *Request) (o *owner, granted []*Waiter, err error) {
	if o := t.find(q); o != nil {
		if q.State != 0 && o.state != 0 && q.State != o.state {
			t.clear(o)
			granted = t.wake(o.file, Range{0, End})
		}
		if q.State != 0 {
			o.state = q.State
		}
		return o, granted, nil
	}
	c := t.clients[q.Client]
	if c == nil {
		s := t.sources[q.Source]
		if s == nil {
			s = &source{name: q.Source}
		}
		if err := t.room(s, usage{clients: 1}); err != nil {
			return nil, nil, err
		}
		c = &client{q.Client, s, map[*owner]bool{}}
		t.clients[c.Client] = c
		t.count(s, usage{clients: 1})
	}
	f := t.files[q.File]
	if f == nil {
		f = &file{name: q.File, owners: map[process]*owner{}}
		t.files[f.name] = f
	}
	t.owners++
	o = &owner{id: t.owners, process: process{c, q.SVID, q.Owner}, file: f, state: q.State}
	f.owners[o.process], c.owners[o] = o, true
	return o, nil, nil
}

// clear releases all locks of an owner, and forgets its requests that wait.
func (t *Table) clear(o *owner) {
	t.forget(o, func(*Waiter) bool { return true })
	t.know(o, Range{0, End}, nil)
	_ = t.set(o, Range{0, End}, nil) // splits nothing
}

// settle removes an owner without locks that waits for none, with its file and client if these have
// no other.
func (t *Table) settle(o *owner) {
	if o.ranges > 0 || o.waiters > 0 || len(o.granted) > 0 {
		return
	}
	c, f := o.process.client, o.file
	delete(f.owners, o.process)
	delete(c.owners, o)
	if len(f.owners) == 0 {
		delete(t.files, f.name)
	}
	if len(c.owners) == 0 && t.clients[c.Client] == c {
		delete(t.clients, c.Client)
		t.count(c.source, usage{clients: -1})
	}
}

// Unlock releases a range of an owner. What it waits for in the range is cancelled. It returns the
// requests that are granted by it: the caller calls each client, and then Accepted or Rejected. A
// split of a range may exceed a limit.
func (t *Table) Unlock(q *Request) (granted []*Waiter, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.find(q)
	if o == nil {
		return nil, nil
	}
	defer t.settle(o)
	if err := t.set(o, q.Range, nil); err != nil {
		return nil, err
	}
	t.forget(o, func(w *Waiter) bool { return w.Range == q.Range })
	t.know(o, q.Range, nil)
	return t.wake(o.file, q.Range), nil
}

// Free releases all locks of a client, and forgets its requests that wait. An owner whose last
// request had the State keep, if that is not zero, keeps its locks: the client has taken them since
// it started again. It returns the requests that are granted by it, as Unlock does.
func (t *Table) Free(c Client, keep int32) (granted []*Waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	cl := t.clients[c]
	if cl == nil {
		return nil
	}
	var files []*file
	for o := range cl.owners {
		if keep != 0 && o.state == keep {
			continue
		}
		t.clear(o)
		files = append(files, o.file)
		t.settle(o)
	}
	slices.SortFunc(files, func(a, b *file) int { return compare(a.name, b.name) })
	for _, f := range slices.Compact(files) {
		granted = append(granted, t.wake(f, Range{0, End})...)
	}
	return granted
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Clients returns the clients that have locks or wait for some, in no order.
func (t *Table) Clients() []Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Client, 0, len(t.clients))
	for c := range t.clients {
		all = append(all, c)
	}
	return all
}

// set locks a range for an owner, or releases it if exclusive is nil. It fails only if the owner
// then has more ranges than a limit, and changes nothing.
func (t *Table) set(o *owner, r Range, exclusive *bool) error {
	var removed, added []*node
	whole := r
	for _, n := range o.own.near(nil, r) {
		switch {
		case exclusive != nil && n.exclusive == *exclusive:
			whole = Range{min(whole.First, n.First), max(whole.Last, n.Last)}
		case !n.overlaps(r):
			continue
		default:
			if n.First < r.First {
				added = append(added, &node{Range: Range{n.First, r.First - 1}, exclusive: n.exclusive})
			}
			if n.Last > r.Last {
				added = append(added, &node{Range: Range{r.Last + 1, n.Last}, exclusive: n.exclusive})
			}
		}
		removed = append(removed, n)
	}
	if exclusive != nil {
		added = append(added, &node{Range: whole, exclusive: *exclusive})
	}
	more := usage{locks: len(added) - len(removed)}
	if err := t.room(o.process.client.source, more); err != nil {
		return err
	}
	for _, n := range removed {
		o.own = remove(o.own, n.First, o.id)
		o.file.all = remove(o.file.all, n.First, o.id)
	}
	for _, n := range added {
		n.owner, n.priority = o, t.rand.Uint64()
		both := *n // each tree has its own node
		o.own = insert(o.own, n)
		o.file.all = insert(o.file.all, &both)
	}
	o.ranges += more.locks
	t.count(o.process.client.source, more)
	return nil
}
