package codec

import "github.com/rpcrdma/rpcrdma/runtime/xdr"

// Cloner is the state of one deep copy: the depth, the first error, and memory for opaque data.
type Cloner struct {
	depth  int
	err    *xdr.Error
	copied int    // bytes of opaque data copied
	arena  []byte // memory for the next
}

// maxArena is the size in bytes of the largest block that opaque items share in a copy.
const maxArena = 16 << 10

// Clone returns a deep copy of v, or nil if v is nil. deepen replaces all memory that its argument,
// a plain copy, shares with v. If deepen is nil, they share nothing.
func Clone[T any](v *T, deepen func(k *Cloner, c *T)) (*T, error) {
	if v == nil {
		return nil, nil
	}
	c := *v
	if deepen == nil {
		return &c, nil
	}
	var k Cloner
	if deepen(&k, &c); k.err != nil {
		return nil, k.err
	}
	return &c, nil
}

// Enter counts one level of a type that contains itself, named by path. If it reports true, a
// call of Leave must follow. It reports false if the value nests too deeply, and from then on:
// copying a cycle of pointers ends.
func (k *Cloner) Enter(path string) bool {
	if k.err == nil && k.depth >= defaultDepth {
		k.err = Fail(xdr.CodeDepth, 0, uint64(k.depth)+1, defaultDepth, path)
	}
	k.depth++
	return k.err == nil
}

// Leave undoes Enter.
func (k *Cloner) Leave() { k.depth-- }

// CloneBytes returns a copy of b without spare capacity. After the first, copies share blocks of
// memory, which hold at most as much as was copied before.
func CloneBytes[T ~[]byte](k *Cloner, b T) T {
	n := len(b)
	switch {
	case n == 0:
		return CloneSlice(b)
	case n > len(k.arena):
		k.copied += n
		size := min(k.copied-n, maxArena)
		if n > size/2 {
			return CloneSlice(b)
		}
		k.arena = make([]byte, size)
	}
	c := k.arena[:n:n]
	k.arena = k.arena[n:]
	copy(c, b)
	return c
}

// CloneSlice returns a copy of s without spare capacity. Elements are copied as they are.
func CloneSlice[S ~[]E, E any](s S) S {
	if s == nil {
		return nil
	}
	c := make(S, len(s))
	copy(c, s)
	return c
}

// ClonePointer returns a pointer to a copy of *p.
func ClonePointer[T any](p *T) *T {
	c := *p
	return &c
}

// Move returns *p and empties *p.
func Move[T any](p *T) T {
	var empty T
	old := *p
	*p = empty
	return old
}
