package stream

// ring is a queue whose entries are numbered in the order of push. It grows to the
// largest number of entries it has held. A slot keeps the slices of its last entry for
// the next one.
type ring[T any] struct {
	slots      []T // their number is a power of two
	head, tail uint64
}

const ringStart = 4

func (r *ring[T]) len() int { return int(r.tail - r.head) }

// at returns entry number i, where head <= i < tail.
func (r *ring[T]) at(i uint64) *T { return &r.slots[i&uint64(len(r.slots)-1)] }

// next returns the entry that push will add. It still holds what its last user left.
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

// push adds the entry that next returned, and returns its number.
func (r *ring[T]) push() uint64 {
	r.tail++
	return r.tail - 1
}

// pop removes the oldest entry. The caller has cleared what must not stay in its slot.
func (r *ring[T]) pop() { r.head++ }
