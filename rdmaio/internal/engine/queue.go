package engine

// queue is a first-in first-out ring that keeps its memory, of a length that is 0 or a power of 2.
type queue[T any] struct {
	ring []T
	head int
	n    int
}

func (q *queue[T]) len() int { return q.n }

// at gives the i-th element from the front.
func (q *queue[T]) at(i int) *T { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *queue[T]) push(v T) {
	if q.n == len(q.ring) {
		ring := make([]T, max(8, 2*q.n))
		for i := range q.n {
			ring[i] = *q.at(i)
		}
		q.ring, q.head = ring, 0
	}
	q.n++
	*q.at(q.n - 1) = v
}

// lead moves the last element to the front.
func (q *queue[T]) lead() {
	for i := q.n - 1; i > 0; i-- {
		a, b := q.at(i-1), q.at(i)
		*a, *b = *b, *a
	}
}

// trim frees the memory of an empty queue.
func (q *queue[T]) trim() {
	if q.n == 0 {
		*q = queue[T]{}
	}
}

// pop removes the first element. The queue must not be empty.
func (q *queue[T]) pop() T {
	v := *q.at(0)
	var zero T
	*q.at(0) = zero
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return v
}

// remove takes the first element that match accepts out of its place.
func (q *queue[T]) remove(match func(T) bool) bool {
	for i := range q.n {
		if match(*q.at(i)) {
			for ; i > 0; i-- {
				*q.at(i) = *q.at(i - 1)
			}
			q.pop()
			return true
		}
	}
	return false
}
