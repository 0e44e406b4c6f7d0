package ibverbs

// ring holds the posted requests of a queue, by their number. Its memory grows to as many as there
// were at a time.
type ring[T any] struct {
	slots      []T // a power of 2
	head, tail uint64
}

func (r *ring[T]) len() int { return int(r.tail - r.head) }

// has reports whether entry number i exists.
func (r *ring[T]) has(i uint64) bool { return i-r.head < r.tail-r.head }

// at returns entry number i.
func (r *ring[T]) at(i uint64) *T { return &r.slots[i&uint64(len(r.slots)-1)] }

// push adds an entry and returns its number. The entry holds what its last user left.
func (r *ring[T]) push() uint64 {
	if r.len() == len(r.slots) {
		grown := make([]T, max(4, 2*len(r.slots)))
		for i := r.head; i < r.tail; i++ {
			grown[i&uint64(len(grown)-1)] = *r.at(i)
		}
		r.slots = grown
	}
	r.tail++
	return r.tail - 1
}
