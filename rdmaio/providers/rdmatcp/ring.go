package rdmatcp

// ring is a queue whose entries are known by the number of their push. It grows
// to what was in it at most; entries keep their own slices for the next use.
type ring[T any] struct {
	slots      []T // a power of two of them
	head, tail uint64
}

const ringStart = 4

func (r *ring[T]) len() int { return int(r.tail - r.head) }

// at gives entry number i, head <= i < tail.
func (r *ring[T]) at(i uint64) *T { return &r.slots[i&uint64(len(r.slots)-1)] }

// next gives the entry that push will add, with what its last user left in it.
func (r *ring[T]) next() *T {
	if r.len() == len(r.slots) {
		grown := make([]T, max(ringStart, 2*len(r.slots)))
		for i := r.head; i < r.tail; i++ {
			grown[i&uint64(len(grown)-1)] = *r.at(i)
		}
		r.slots = grown
	}
	return r.at(r.tail)
}

// push adds the entry that next gave and tells its number.
func (r *ring[T]) push() uint64 {
	r.tail++
	return r.tail - 1
}

// pop removes the oldest entry, of which the caller has cleared what must go.
func (r *ring[T]) pop() { r.head++ }
