package locks

// End is the last byte that a range can have.
const End = 1<<64 - 1

// Range is a range of bytes, from First to Last.
type Range struct{ First, Last uint64 }

func (r Range) overlaps(s Range) bool { return r.First <= s.Last && s.First <= r.Last }

// The kinds of locks that a request looks at: an exclusive one conflicts with all, a shared one
// with those that are exclusive.
const (
	allLocks = iota
	exclusiveLocks
	kinds
)

// node is a locked range in a treap, ordered by first byte and owner. Priorities are random, and a
// parent's is the lowest.
//
// last and only are about the node and all below it, for each kind: the last byte of any, and the
// owner if all have the same one. only is nil without a lock of the kind, and several with
// different owners.
type node struct {
	Range
	exclusive   bool
	owner       *owner
	priority    uint64
	left, right *node
	last        [kinds]uint64
	only        [kinds]*owner
}

// several stands for different owners.
var several = new(owner)

// before reports whether a node has its place before a first byte and an owner.
func (n *node) before(first, owner uint64) bool {
	return n.First < first || n.First == first && n.owner.id < owner
}

// update sets what n knows about the nodes below it.
func (n *node) update() {
	n.last, n.only = [kinds]uint64{allLocks: n.Last}, [kinds]*owner{allLocks: n.owner}
	if n.exclusive {
		n.last[exclusiveLocks], n.only[exclusiveLocks] = n.Last, n.owner
	}
	for _, c := range []*node{n.left, n.right} {
		if c == nil {
			continue
		}
		for k := range kinds {
			n.last[k] = max(n.last[k], c.last[k])
			switch {
			case n.only[k] == nil:
				n.only[k] = c.only[k]
			case c.only[k] != nil && c.only[k] != n.only[k]:
				n.only[k] = several
			}
		}
	}
}

// split divides a tree into the nodes before a place, and the others.
func split(n *node, first, owner uint64) (left, right *node) {
	if n == nil {
		return nil, nil
	}
	if n.before(first, owner) {
		n.right, right = split(n.right, first, owner)
		left = n
	} else {
		left, n.left = split(n.left, first, owner)
		right = n
	}
	n.update()
	return left, right
}

// join makes one tree from two. The first is before the second.
func join(left, right *node) *node {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.priority < right.priority:
		left.right = join(left.right, right)
		left.update()
		return left
	}
	right.left = join(left, right.left)
	right.update()
	return right
}

// insert adds a node, and returns the tree.
func insert(n, added *node) *node {
	left, right := split(n, added.First, added.owner.id)
	added.left, added.right = nil, nil
	added.update()
	return join(join(left, added), right)
}

// remove takes away the node of an owner that begins at a byte, and returns the tree.
func remove(n *node, first, owner uint64) *node {
	switch {
	case n == nil:
		return nil
	case n.First == first && n.owner.id == owner:
		return join(n.left, n.right)
	case n.before(first, owner):
		n.right = remove(n.right, first, owner)
	default:
		n.left = remove(n.left, first, owner)
	}
	n.update()
	return n
}

// conflict returns the first lock of a kind, of another owner than o, that overlaps a range. It
// looks at few nodes: it passes over whole subtrees with nodes of o, and at most one of them begins
// before the range and ends in it.
func (n *node) conflict(r Range, o *owner, kind int) *node {
	if n == nil || n.only[kind] == nil || n.only[kind] == o || n.last[kind] < r.First {
		return nil
	}
	if c := n.left.conflict(r, o, kind); c != nil || n.First > r.Last {
		return c
	}
	if n.owner != o && n.Last >= r.First && (kind == allLocks || n.exclusive) {
		return n
	}
	return n.right.conflict(r, o, kind)
}

// near appends the nodes of an owner's tree that overlap a range or touch it.
func (n *node) near(to []*node, r Range) []*node {
	if n == nil || n.last[allLocks] < r.First-min(r.First, 1) {
		return to
	}
	to = n.left.near(to, r)
	if n.First > r.Last && n.First-r.Last > 1 {
		return to
	}
	if n.Last >= r.First-min(r.First, 1) {
		to = append(to, n)
	}
	return n.right.near(to, r)
}
