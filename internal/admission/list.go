package admission

// list has values in the order in which they came.
type list[T any] struct {
	first, last *element[T]
	n           int
}

// element is the place of a value in a list. The zero element is in no list.
type element[T any] struct {
	in         *list[T]
	prev, next *element[T]
	value      *T
}

// push appends a value, whose element is e, unless that is in a list.
func (l *list[T]) push(e *element[T], value *T) {
	if e.in != nil {
		return
	}
	*e = element[T]{in: l, prev: l.last, value: value}
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
	l.n++
}

// remove removes the value of an element from its list, if it is in one.
func (e *element[T]) remove() {
	l := e.in
	if l == nil {
		return
	}
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
	*e = element[T]{}
	l.n--
}

// pop removes and returns the first value, or nil.
func (l *list[T]) pop() *T {
	if l.first == nil {
		return nil
	}
	v := l.first.value
	l.first.remove()
	return v
}
