package plan

const (
	maxAmplification = 1 << 20 // where the search for a bound ends
	// maxRecursive limits how many recursive types are visited from one declaration. Without a
	// limit the work would grow with the square of a circle's size or faster, because a walk around
	// the circle starts at each of its declarations, and walks branch. Beyond the limit the
	// amplification is not known. The files of the corpus need 9.
	maxRecursive = 128
)

// Amplification returns how many bytes of memory a value of t takes at most for each byte on the
// wire, rounded up to a whole number. It returns 0 if no limit is known: elements without bytes on
// the wire are limited by count alone, and more than maxRecursive types may hold each other.
func (p *Plan) Amplification(t *Type) int {
	holds := func(rate int) bool {
		a := newAmplifier(p, rate)
		return a.typ(t) <= 0 && a.ok
	}
	if !holds(maxAmplification) {
		return 0
	}
	lo, hi := 0, maxAmplification // holds(lo) may be false, holds(hi) is true
	for lo < hi {
		if mid := (lo + hi) / 2; holds(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return hi
}

// amplifier computes by how much the memory that a value holds can exceed rate times its wire
// size. An item that can be repeated must not exceed it at all.
type amplifier struct {
	p    *Plan
	rate int
	ok   bool
	open map[*Type]bool // recursive types that the walk is inside of

	recursive int // recursive types visited
}

func newAmplifier(p *Plan, rate int) *amplifier {
	return &amplifier{p: p, rate: rate, ok: true, open: map[*Type]bool{}}
}

// excess is the result of a walk that began at a type.
type excess struct {
	bytes int
	ok    bool
}

type excessOf struct {
	typ  *Type
	rate int
}

// repeated refuses the rate if an item that may be repeated exceeds it.
func (a *amplifier) repeated(excess int) {
	if excess > 0 {
		a.ok = false
	}
}

func (a *amplifier) step(s *Step) int {
	switch s.Op {
	case Loop:
		return s.Len * a.step(s.Elem)
	case Opaque:
		a.repeated(1 - a.rate) // its copy in the arena
		return -4 * a.rate
	case Array:
		a.repeated(s.Elem.Memory() + a.step(s.Elem))
		return -4 * a.rate
	case Optional:
		excess := a.step(s.Elem)
		if s.Pointer {
			excess += s.Elem.Memory()
			a.repeated(excess)
		}
		return max(0, excess) - 4*a.rate
	case List:
		return a.list(s)
	case Enum, Struct, Union, Typedef:
		return a.typ(s.Of)
	}
	return -a.rate * s.Min()
}

// list knows how lists grow: to the length that the input has if the elements have one size
// (codec.ExtendFixed), else to four elements, then by doubling (codec.Extend).
func (a *amplifier) list(s *Step) int {
	node, size, fixed := s.Of, s.Elem.Memory(), s.Of.Size.Fixed()
	elem := -a.rate * a.p.bare(node)
	if !a.open[node] {
		elem = a.typ(node)
	}
	elem -= 4 * a.rate
	if fixed {
		a.repeated(size + elem)
	} else {
		a.repeated(2*size + elem)
	}
	room := func(n, doubled int) int {
		if fixed {
			return n * size
		}
		return doubled * size
	}
	most, end := 0, -4*a.rate
	if s.Head {
		end = 0 // one word less than elements
		most = room(1, 4) + elem
	}
	for n, doubled := 1, 4; n < 1<<16; n, doubled = doubled+1, 2*doubled {
		most = max(most, room(n, doubled)+n*elem)
	}
	if node.Recursive {
		a.repeated(most) // its elements may hold such lists
	}
	return most + end
}

func (a *amplifier) typ(t *Type) int {
	if a.open[t] {
		return -a.rate * a.p.bare(t) // enter refuses more
	}
	if t.Recursive && len(a.open) > 0 { // it may hold an open one, which changes the result
		return a.enter(t)
	}
	key := excessOf{t, a.rate}
	known, found := a.p.excesses[key]
	if !found {
		apart := newAmplifier(a.p, a.rate)
		known.bytes = apart.enter(t)
		known.ok = apart.ok
		a.p.excesses[key] = known
	}
	a.ok = a.ok && known.ok
	return known.bytes
}

// enter returns the excess of t, which is not open. It refuses the rate if that would be one
// recursive type too many.
func (a *amplifier) enter(t *Type) int {
	if !t.Recursive {
		return a.content(t)
	}
	if a.recursive++; a.recursive > maxRecursive {
		a.ok = false
		return 0
	}
	a.open[t] = true
	defer delete(a.open, t)
	excess := a.content(t)
	a.repeated(excess + a.rate*a.p.bare(t)) // what typ returns inside of t
	return excess
}

// content is the excess of t's parts.
func (a *amplifier) content(t *Type) int {
	switch t.Op {
	case Enum:
		return -4 * a.rate
	case Typedef:
		return a.step(t.Body)
	case Struct:
		sum := 0
		for _, f := range t.Fields {
			sum += a.step(f.Step)
		}
		return sum
	}
	most, void := 0, false
	for i, arm := range t.Arms {
		excess := 0
		if arm.Field != nil {
			excess = a.step(arm.Field.Step)
			if arm.Pointer {
				excess += arm.Field.Step.Memory()
			}
		} else {
			void = true
		}
		if i == 0 {
			most = excess
		}
		most = max(most, excess)
	}
	if void {
		most = max(most, 0)
	}
	return most - 4*a.rate
}
