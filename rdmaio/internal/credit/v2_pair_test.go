package credit_test

import "testing"

// counter is one of two ends without code of package credit. Each counts a credit for each message
// of the other one, Grants included, if there is one left.
type counter struct {
	credits, out int // granted to it; and by it, less those used
	top          bool
}

// pair is a connection between two such ends, with the messages on their way. A message is its
// class and the credits that it grants.
type pair struct {
	sides [2]counter
	ways  [2]string // to side i, two bytes each
}

// pairs searches all states of two sides with these ceilings.
type pairs struct {
	ceilings [2]int
	tops     [2]bool // side i sends one Grant without a credit, when neither has one
	seen     map[pair]bool
	found    string
}

// say makes side i send a message, which grants as much as can be granted.
func (d *pairs) say(p pair, i int, class byte) pair {
	s := &p.sides[i]
	low := d.ceilings[i] - s.out
	s.out += low
	p.ways[1-i] += string([]byte{class, byte(low)})
	return p
}

// visit searches the states that follow p.
func (d *pairs) visit(p pair) {
	if d.seen[p] || d.found != "" {
		return
	}
	d.seen[p] = true
	for i := range p.sides {
		if q, way := p, p.ways[i]; way != "" {
			s := &q.sides[i]
			q.ways[i] = way[2:]
			if s.out == 0 && way[0] == 'm' {
				d.found = "a message exceeds the granted limit"
				return
			}
			s.out = max(s.out-1, 0)
			s.credits = min(s.credits+int(way[1]), d.ceilings[1-i])
			d.visit(q)
		}
		switch s := p.sides[i]; {
		case s.credits > 0:
			q := p
			q.sides[i].credits--
			d.visit(d.say(q, i, 'm'))
			d.visit(d.say(q, i, 'g'))
		case d.tops[i] && s.out == 0 && !s.top:
			q := p
			q.sides[i].top = true
			d.visit(d.say(q, i, 'g'))
		}
	}
}

// If an end counts each Grant, and also sends Grants without a credit, two such ends break the
// document between themselves. A receiver does not know whether the sender of a Grant had a credit
// while a grant was on its way to it. If each end sends a single such Grant, one of the two then
// believes that it has a credit which the other one has counted as used. It sends a message in
// excess of the receiver's limit, which it must not
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.3.1; R169, R170). If neither sends such Grants, or
// only one does, all states agree.
func TestV2BothEndsSendGrantsWithoutACredit(t *testing.T) {
	for a := 1; a <= 3; a++ {
		for b := 1; b <= 3; b++ {
			for i := range 4 {
				d := pairs{ceilings: [2]int{a, b}, tops: [2]bool{i&1 > 0, i&2 > 0}, seen: map[pair]bool{}}
				d.visit(pair{sides: [2]counter{{credits: b, out: a}, {credits: a, out: b}}})
				if both := d.tops[0] && d.tops[1]; (d.found != "") != both {
					t.Errorf("ceilings %d and %d, Grants without a credit %v: %q after %d states", a, b, d.tops, d.found, len(d.seen))
				}
			}
		}
	}
}
