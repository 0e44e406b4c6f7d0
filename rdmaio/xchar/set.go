package xchar

import (
	"fmt"
	"iter"

	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// set is a counted list of characteristics in a message, reduced to those that are known.
type set struct {
	elements int         // all of them, unknown ones included
	present  [slots]bool // whether the list has the characteristic
	index    [slots]int  // its place in the list
	word     [slots]uint32
}

// readSet reads a whole list before it applies anything. Unknown characteristics are counted
// and not read.
func readSet(values iter.Seq2[int, wire.ValueView]) (set, error) {
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §2.1, §5.2 and §7; R231, R233, R313
	var found set
	for i, v := range values {
		found.elements++
		s, known := slotOf(v.Which())
		if !known {
			continue
		}
		if found.present[s] {
			return found, fmt.Errorf("element %d: characteristic %d is element %d already, expected each once", i, v.Which(), found.index[s])
		}
		word, err := s.decode(v.Data())
		if err != nil {
			return found, fmt.Errorf("element %d: characteristic %d, %d bytes: %w (section 2.1)", i, v.Which(), len(v.Data()), err)
		}
		found.present[s], found.index[s], found.word[s] = true, i, word
	}
	return found, nil
}

// check checks the encoding of an operation, which must fill b.
func check(op xdr.Checkable, b []byte) error {
	d := xdr.NewDecoder(b, nil)
	if err := d.Check(op); err != nil {
		return err
	}
	return d.Done()
}

// add adds element n to a subset: bit n mod 32 of word n div 32 (section 2.1).
func add(set wire.Subset, n int) wire.Subset {
	for len(set) <= n/32 {
		set = append(set, 0)
	}
	set[n/32] |= 1 << (n % 32)
	return set
}

// has reports whether a subset has element n.
func has(set iter.Seq2[int, uint32], n int) bool {
	for i, word := range set {
		if i == n/32 {
			return word&(1<<(n%32)) != 0
		}
	}
	return false
}

// low returns the first word of a subset, and whether all other words are zero.
func low(set iter.Seq2[int, uint32]) (first uint32, alone bool) {
	for i, word := range set {
		if i == 0 {
			first = word
		} else if word != 0 {
			return 0, false
		}
	}
	return first, true
}
