package plan

// The limits for inlining and for runs (ADR 0005).
const (
	runLimit    = 24   // words that a type may add to a run
	runBytes    = 4096 // bytes of fixed opaque data that a run may have
	inlineLimit = 14   // the weight up to which a type is written out wherever it is used
	onceLimit   = 128  // the same for a type that is used in one place
	smallLimit  = 4    // the same for a compact type, wherever it is used
	wideUnion   = 128  // the number of arms up to which a union's arms are written out
	deepest     = 6    // loops inside each other that are written out
	never       = 1 << 20
)

// fact is a number that is computed once.
type fact struct {
	n     int
	state uint8
}

const (
	unknown uint8 = iota
	inWork
	known
)

// get returns the number. Within compute, for the same fact, it returns circular.
func (f *fact) get(circular int, compute func() int) int {
	switch f.state {
	case unknown:
		f.state = inWork
		f.n = compute()
		f.state = known
	case inWork:
		return circular
	}
	return f.n
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// facts are numbers of a step or type that other decisions depend on.
type facts struct {
	words     fact // in a run; negative outside
	loops     fact // arrays, lists and optional data inside each other
	weight    fact // statements of code
	check     fact // the same of check-only readers
	unchecked fact
	recursive fact
	beginsRun fact
	holds     fact
	plain     fact
	memory    fact
	keeps     fact
	align     int
}

// words returns the number of words that s adds to a run. It is negative if s cannot be part of
// one.
func (s *Step) words() int {
	return s.facts.words.get(-1, func() int {
		switch s.Op {
		case Word, Hyper, Bool, Enum:
			return 1
		case Bytes:
			if s.Len <= runBytes {
				return 1
			}
		case Loop:
			if n := s.Elem.words(); n >= 0 && uint64(n)*uint64(s.Len) <= runLimit {
				return n * s.Len
			}
		case Typedef:
			return s.Elem.words()
		case Struct:
			return s.Of.words()
		}
		return -1
	})
}

// words returns how many words a struct takes in a run. The number is negative if the struct cannot
// be in one.
func (t *Type) words() int {
	if t.Node || t.Recursive {
		return -1
	}
	return t.facts.words.get(-1, func() int {
		sum := 0
		for _, f := range t.Fields {
			n := f.Step.words()
			if n < 0 || sum+n > runLimit {
				return -1
			}
			sum += n
		}
		return sum
	})
}

// deep reports whether s has too many loops inside each other to be written out.
func (s *Step) deep() bool { return s.loops() > deepest }

// loops counts the arrays, lists and optional data inside each other.
func (s *Step) loops() int {
	return s.facts.loops.get(0, func() int {
		switch s.Op {
		case Loop, Array, Optional:
			return 1 + s.Elem.loops()
		case List:
			return 1 + s.Of.loops()
		case Struct, Union, Typedef:
			return s.Of.loops()
		}
		return 0
	})
}

func (t *Type) loops() int {
	if t.Recursive {
		return 0
	}
	return t.facts.loops.get(0, func() int {
		n := 0
		for s := range t.parts {
			n = max(n, s.loops())
		}
		return n
	})
}

// weight counts the statements of code that s takes where it is written out.
func (s *Step) weight() int {
	if n := s.words(); n >= 0 {
		return n
	}
	return s.facts.weight.get(never, func() int {
		switch s.Op {
		case Opaque:
			return 4
		case Loop, Array:
			if s.deep() {
				return never
			}
			return 4 + s.Elem.weight()
		case List:
			return 4 + s.Of.weight()
		case Optional:
			return 2 + s.Elem.weight()
		case Struct, Union, Typedef:
			return s.Of.weight()
		}
		return 1
	})
}

// weight counts the statements that a type takes. Structs that hold two of another double it at
// each level, so there is a limit.
func (t *Type) weight() int {
	if t.Recursive {
		return never
	}
	return t.facts.weight.get(never, func() int {
		n := 0
		if t.Op == Union {
			n = 2
		}
		for s := range t.parts {
			n += s.weight()
		}
		return min(n, never)
	})
}

// parts yields the step of a typedef, the fields of a struct, or the arms of a union.
func (t *Type) parts(yield func(*Step) bool) {
	if t.Body != nil && !yield(t.Body) {
		return
	}
	for _, f := range t.Fields {
		if !yield(f.Step) {
			return
		}
	}
	for _, a := range t.Arms {
		if a.Field != nil && !yield(a.Field.Step) {
			return
		}
	}
}
