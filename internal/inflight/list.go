package inflight

// List is a list of records, first come, first served. The zero value is empty. The owner's lock
// guards it.
type List[T any] struct{ first, last *Linked[T] }

// Linked is the part of a record that is in a List, and in one at most.
type Linked[T any] struct {
	record     *T
	prev, next *Linked[T]
}

// First returns the first record, or nil.
func (l *List[T]) First() *T {
	if l.first == nil {
		return nil
	}
	return l.first.record
}

// Push appends a record. e is the record's, and in no List.
func (l *List[T]) Push(record *T, e *Linked[T]) {
	*e = Linked[T]{record: record, prev: l.last}
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
}

// Remove removes the record of e, which must be in the List, from any place.
func (l *List[T]) Remove(e *Linked[T]) {
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	*e = Linked[T]{}
}
