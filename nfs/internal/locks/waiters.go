package locks

import (
	"cmp"
	"slices"
)

// Waiter is a request that waits, or that was granted after it had waited. Its fields do not
// change.
type Waiter struct {
	Request
	Tag any // what the caller of Lock gave

	owner *owner
	// former has the locks that the owner had in the range when the request was granted: only for
	// the bytes that the client has not called for since, in their order.
	former []formerly
	cut    bool // the client has called since for a part, and has less there than was granted
}

// formerly is a range as it was before.
type formerly struct {
	Range
	locked, exclusive bool
}

// Result says what became of a request.
type Result int

const (
	Granted Result = iota
	Denied         // another owner's lock is in the way
	Waiting        // as Denied, and the request waits
)

// Lock locks a range, and replaces what the owner has in it. If another owner's lock is in the way,
// the request waits if tag is not nil. The same request that waits already gets the new tag and
// keeps its place. It returns the requests of others that are granted because a range became
// shared, as Unlock does. The error is a LimitError.
func (t *Table) Lock(q *Request, tag any) (res Result, granted []*Waiter, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tag == nil { // nothing is kept of a request that is denied
		if f := t.files[q.File]; f != nil && f.all.conflict(q.Range, t.find(q), q.kind()) != nil {
			return Denied, nil, nil
		}
	}
	o, granted, err := t.open(q)
	if err != nil {
		return Denied, nil, err
	}
	defer t.settle(o)
	same := func(w *Waiter) bool { return w.Range == q.Range && w.Exclusive == q.Exclusive }
	if o.file.all.conflict(q.Range, o, q.kind()) != nil {
		w := &Waiter{Request: *q, Tag: tag, owner: o}
		if i := slices.IndexFunc(o.file.waiters, func(w *Waiter) bool { return w.owner == o && same(w) }); i >= 0 {
			o.file.waiters[i] = w
			return Waiting, granted, nil
		}
		if err := t.room(o.process.client.source, usage{waiters: 1}); err != nil {
			return Denied, granted, err
		}
		o.file.waiters = append(o.file.waiters, w)
		o.waiters++
		t.count(o.process.client.source, usage{waiters: 1})
		return Waiting, granted, nil
	}
	if err := t.set(o, q.Range, &q.Exclusive); err != nil {
		return Denied, granted, err
	}
	t.forget(o, same)
	t.know(o, q.Range, &q.Exclusive)
	return Granted, append(granted, t.wake(o.file, q.Range)...), nil
}

// Cancel removes a request that waits. If it was granted and not accepted yet, it is rejected. It
// returns requests of others that are granted by that, as Unlock does.
func (t *Table) Cancel(q *Request) (granted []*Waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.find(q)
	if o == nil {
		return nil
	}
	defer t.settle(o)
	same := func(w *Waiter) bool { return w.Range == q.Range && w.Exclusive == q.Exclusive }
	t.forget(o, same)
	if i := slices.IndexFunc(o.granted, same); i >= 0 {
		return t.revert(o.granted[i])
	}
	return nil
}

// Accepted says that the client has the lock that w was granted.
func (t *Table) Accepted(w *Waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(w.owner.granted, w)
	if i < 0 {
		return
	}
	// The refusal of an earlier grant is about the other bytes.
	for _, earlier := range w.owner.granted[:i] {
		earlier.former = without(earlier.former, formerly{Range: w.Range})
	}
	t.drop(w)
	t.settle(w.owner)
}

// Rejected says that the client does not want the lock that w was granted, or cannot be reached:
// the owner has its former locks in the range again, except where another owner has a lock since
// that conflicts. A part for which a limit has no room stays as it was granted. It has no effect on
// bytes that the owner has called for since, or has by another grant. It returns the requests that
// are granted by it, as Unlock does.
func (t *Table) Rejected(w *Waiter) (granted []*Waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(w.owner.granted, w) {
		return nil
	}
	defer t.settle(w.owner)
	return t.revert(w)
}

// Pending reports whether the client has neither accepted nor rejected the lock of w, nor has
// called for all of it since.
func (t *Table) Pending(w *Waiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(w.owner.granted, w)
}

// Cut reports whether the client has less than it was granted, because it has called for a part
// since.
func (t *Table) Cut(w *Waiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return w.cut
}

// revert gives an owner the locks again that it had before w was granted. Bytes that were granted
// again since stay, and get the former locks of w if that grant is refused, too.
func (t *Table) revert(w *Waiter) []*Waiter {
	o, left := w.owner, w.former
	for _, later := range o.granted[slices.Index(o.granted, w)+1:] {
		outside := without(left, formerly{Range: later.Range})
		if inside := without(left, outside...); len(inside) > 0 {
			later.former = append(without(later.former, inside...), inside...)
			slices.SortFunc(later.former, byFirst)
		}
		left = outside
	}
	t.drop(w)
	for _, was := range left {
		t.restore(o, was)
	}
	return t.wake(o.file, w.Range)
}

// restore gives an owner a former lock, or the lack of one, where that conflicts with nothing and
// exceeds no limit.
func (t *Table) restore(o *owner, was formerly) {
	if !was.locked {
		_ = t.set(o, was.Range, nil)
		return
	}
	q := Request{Exclusive: was.exclusive}
	for r := was.Range; ; {
		n := o.file.all.conflict(r, o, q.kind())
		if n == nil {
			_ = t.set(o, r, &was.exclusive)
			return
		}
		if n.First > r.First {
			_ = t.set(o, Range{r.First, n.First - 1}, &was.exclusive)
		}
		if n.Last >= r.Last {
			return
		}
		r.First = n.Last + 1
	}
}

func byFirst(a, b formerly) int { return cmp.Compare(a.First, b.First) }

// without returns the bytes of ranges that are not in others. Both are in order and disjoint.
func without(ranges []formerly, others ...formerly) (left []formerly) {
	for _, r := range ranges {
		for len(others) > 0 && others[0].Last < r.First {
			others = others[1:]
		}
		rest := true
		for _, o := range others {
			if o.First > r.Last {
				break
			}
			if o.First > r.First {
				left = append(left, formerly{Range{r.First, o.First - 1}, r.locked, r.exclusive})
			}
			if rest = o.Last < r.Last; !rest {
				break
			}
			r.First = o.Last + 1
		}
		if rest {
			left = append(left, r)
		}
	}
	return left
}

// drop removes w from the requests that are granted and not accepted.
func (t *Table) drop(w *Waiter) {
	o := w.owner
	o.granted = slices.DeleteFunc(o.granted, func(other *Waiter) bool { return other == w })
	t.count(o.process.client.source, usage{waiters: -1})
}

// know accepts what an owner was granted in a range, because it has called: for a lock, or to
// release the range if exclusive is nil.
func (t *Table) know(o *owner, r Range, exclusive *bool) {
	for _, w := range slices.Clone(o.granted) {
		if !w.overlaps(r) {
			continue
		}
		w.former = without(w.former, formerly{Range: r})
		w.cut = w.cut || exclusive == nil || w.Exclusive && !*exclusive
		if len(w.former) == 0 {
			t.drop(w)
		}
	}
}

// forget removes requests of an owner that wait.
func (t *Table) forget(o *owner, match func(*Waiter) bool) {
	if o.waiters == 0 {
		return
	}
	before := len(o.file.waiters)
	o.file.waiters = slices.DeleteFunc(o.file.waiters, func(w *Waiter) bool { return w.owner == o && match(w) })
	gone := before - len(o.file.waiters)
	o.waiters -= gone
	t.count(o.process.client.source, usage{waiters: -gone})
}

// wake grants the requests that wait for a range and conflict with no lock any more, in their
// order. One that exceeds a limit keeps its place. A request that makes an exclusive range
// shared wakes others in turn.
func (t *Table) wake(f *file, r Range) (granted []*Waiter) {
	ranges := []Range{r}
	for i := 0; i < len(ranges); i++ {
		f.waiters = slices.DeleteFunc(f.waiters, func(w *Waiter) bool {
			if !w.overlaps(ranges[i]) || f.all.conflict(w.Range, w.owner, w.kind()) != nil || !t.grant(w) {
				return false
			}
			granted = append(granted, w)
			if !w.Exclusive && slices.ContainsFunc(w.former, func(was formerly) bool { return was.exclusive }) {
				ranges = append(ranges, w.Range)
			}
			return true
		})
	}
	return granted
}

// grant gives a request that waited its lock, unless that exceeds a limit. The caller removes it
// from those that wait.
func (t *Table) grant(w *Waiter) bool {
	o := w.owner
	var held []formerly
	for _, n := range o.own.near(nil, w.Range) {
		if n.overlaps(w.Range) {
			held = append(held, formerly{Range{max(n.First, w.First), min(n.Last, w.Last)}, true, n.exclusive})
		}
	}
	if t.set(o, w.Range, &w.Exclusive) != nil {
		return false
	}
	w.former = append(without([]formerly{{Range: w.Range}}, held...), held...)
	slices.SortFunc(w.former, byFirst)
	o.waiters--
	o.granted = append(o.granted, w)
	return true
}
