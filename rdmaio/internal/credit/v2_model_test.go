package credit_test

import (
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/credit"
)

// task is a Call that an end serves: its kind, and whether it keeps its Receive. 0 means no task.
type task uint8

const (
	leaf    task = 1 + iota // its handler makes no Call
	inner                   // the same, for a Call that a handler of the other end made
	nesting                 // its handler is to make a Call, and to wait for the Reply
	waiting                 // its handler waits for that Reply
	held    task = 8        // a bit: the Call keeps its Receive
)

// packet is a message in flight.
type packet struct {
	class credit.Class
	task  task // the Call that it completes or answers; 0 for other messages and first parts
	reply bool // it answers the Call
	more  bool // a further part follows
	gift  bool // it cost no credit
	word  uint32
}

// queue has the messages to one end, in order.
type queue struct {
	msg [6]packet
	n   uint8
}

func (q *queue) all() []packet { return q.msg[:q.n] }

// side is one end of a connection: the account under test, and as much of an engine as it needs.
type side struct {
	credit.V2
	receives uint8   // Receives posted, counted apart from the account
	serving  [4]task // sorted
	parts    uint8   // parts left to send of a continued message
	last     packet  // the last of these parts
}

func (e *side) post() {
	e.Posted(1)
	e.receives++
}

// grants reports whether a Grant would grant any credits. This end sends no other one.
func (e *side) grants() bool {
	c := e.V2
	return c.Sent(credit.Grant)&0xffff > 0
}

// turn makes a task another one.
func (e *side) turn(from, to task) {
	e.serving[slices.Index(e.serving[:], from)] = to
	slices.Sort(e.serving[:])
}

// state is the state of a connection. Side 0 is the client; to[i] has the messages to side i.
type state struct {
	sides [2]side
	to    [2]queue
	begun bool // the client has received a grant
}

// model is a pair of ends, and the search through their states.
type model struct {
	ceilings [2]int
	nests    [2]int // Calls of each end, at a time, whose handlers call it back
	parts    int    // most parts of a Call or Reply
	copies   bool   // no Call keeps its Receive
	oneWay   bool   // the server makes no Calls
	grants   bool   // Grants are also sent without need
	broken   string // a deliberate fault, which the search must find

	seed     maphash.Seed
	seen     map[uint64]bool // states visited; false while those that follow are being visited
	frontier []state         // states from which no new work has begun yet
	found    string          // the first fault
	at       state           // where it was found
}

func (m *model) fail(s *state, format string, args ...any) {
	if m.found == "" {
		m.found, m.at = fmt.Sprintf(format, args...), *s
	}
}

// send puts a message of side i in flight.
func (m *model) send(s *state, i int, p packet) {
	e, q := &s.sides[i], &s.to[1-i]
	before := e.Available()
	p.word = e.Sent(p.class)
	p.gift = e.Available() == before
	if m.broken == "grants more than it counts" {
		p.word++
	}
	if int(q.n) == len(q.msg) {
		m.fail(s, "more messages in flight than there can be Receives")
		return
	}
	q.msg[q.n] = p
	q.n++
}

// begin sends the first part of the message that p describes, which has n parts.
func (m *model) begin(s *state, i int, p packet, n int) {
	if n == 1 {
		m.send(s, i, p)
		return
	}
	s.sides[i].parts, s.sides[i].last = uint8(n-1), packet{class: credit.Part, task: p.task, reply: p.reply}
	m.send(s, i, packet{class: p.class, more: true})
}

// proceed sends the next part.
func (m *model) proceed(s *state, i int) {
	e := &s.sides[i]
	p := packet{class: credit.Part, more: true}
	if e.parts--; e.parts == 0 {
		p, e.last = e.last, packet{}
	}
	m.send(s, i, p)
}

// answer completes a task with a Reply of n parts, or with an ERROR if n is 0.
func (m *model) answer(s *state, i int, t task, n int) {
	e := &s.sides[i]
	e.turn(t, 0)
	if t&held != 0 {
		e.post()
	}
	e.Answered()
	p := packet{class: credit.Answer, task: t &^ held, reply: true}
	if n == 0 {
		p.class, n = credit.Error, 1
	}
	m.begin(s, i, p, n)
}

// deliver hands the next message to side i.
func (m *model) deliver(s *state, i int) {
	e, q := &s.sides[i], &s.to[i]
	p := q.msg[0]
	copy(q.msg[:], q.msg[1:])
	q.n--
	q.msg[q.n] = packet{}
	e.receives--
	if !e.Taken(p.class) {
		m.fail(s, "a message without credit")
	}
	e.Received(p.word, p.class)
	s.begun = s.begun || i == 0 && p.class != credit.Error
	if p.class <= credit.Answer {
		e.Sequence(p.more)
	}
	keeps := false
	switch {
	case p.task == 0:
	case p.reply:
		e.Ended()
		switch {
		case p.task != inner:
		case slices.Contains(e.serving[:], waiting):
			e.turn(waiting, leaf)
		default:
			e.turn(waiting|held, leaf|held)
		}
	case !e.Accept():
		m.fail(s, "a Call is refused")
	case !m.copies && e.Keeps():
		keeps = true
		e.turn(0, p.task|held)
	default:
		e.turn(0, p.task)
	}
	if !keeps {
		e.post()
	}
}

// moves calls visit with each state that can follow s. If work is false, no new work begins.
func (m *model) moves(s *state, work bool, visit func(*state)) {
	for i := range s.sides {
		e := &s.sides[i]
		move := func(do func(n *state)) {
			n := *s
			do(&n)
			for i := range n.sides {
				n.sides[i].V2 = n.sides[i].Uncounted()
			}
			visit(&n)
		}
		if s.to[i].n > 0 {
			move(func(n *state) { m.deliver(n, i) })
		}
		grants := e.Due() && m.broken != "sends no Grant"
		if (m.grants && work || m.broken == "answers Grants") && e.Free(credit.Grant) && e.grants() {
			grants = true
		}
		if grants {
			move(func(n *state) { m.send(n, i, packet{class: credit.Grant}) })
		}
		if e.parts > 0 { // no other message may interrupt it
			if e.Free(credit.Part) {
				move(func(n *state) { m.proceed(n, i) })
			}
			continue
		}
		for k, t := range e.serving {
			switch {
			case t == 0, k > 0 && t == e.serving[k-1], t&^held == waiting:
			case t&^held == nesting:
				if e.Free(credit.Call) {
					move(func(n *state) {
						n.sides[i].turn(t, waiting|t&held)
						m.begin(n, i, packet{class: credit.Call, task: inner}, 1)
					})
				}
			case e.Free(credit.Answer):
				for parts := range m.parts + 1 {
					move(func(n *state) { m.answer(n, i, t, parts) })
				}
			}
		}
		if !work {
			continue
		}
		if e.Free(credit.Other) || m.broken == "sends without credit" {
			move(func(n *state) { m.send(n, i, packet{class: credit.Other}) })
		}
		if e.Free(credit.Call) && !(m.oneWay && i == 1) {
			for parts := range m.parts {
				move(func(n *state) { m.begin(n, i, packet{class: credit.Call, task: leaf}, parts+1) })
				if s.nesting(i) < m.nests[i] {
					move(func(n *state) { m.begin(n, i, packet{class: credit.Call, task: nesting}, parts+1) })
				}
			}
		}
	}
}

// nesting returns how many Calls of side i are in flight whose handlers call side i back.
func (s *state) nesting(i int) (n int) {
	if s.sides[i].last.task == nesting {
		n++
	}
	for _, p := range s.to[1-i].all() {
		if p.task == nesting && !p.reply {
			n++
		}
	}
	for _, t := range s.sides[1-i].serving {
		if t &^= held; t == nesting || t == waiting {
			n++
		}
	}
	return n
}

// check asserts what holds in every state.
func (m *model) check(s *state) {
	for i := range s.sides {
		e, peer := &s.sides[i], &s.sides[1-i]
		switch {
		case s.to[i].n > e.receives: // however late this end polls
			m.fail(s, "a message finds no Receive")
		case int(e.receives) < e.Outstanding()+1:
			m.fail(s, "no Receive for a Grant without credit")
		case s.begun && !e.Kin():
			m.fail(s, "an end takes the other one for an end with other rules")
		case peer.Available() > m.ceilings[i]:
			m.fail(s, "more credits than the ceiling")
		}
		if has, sure := s.credits(1 - i); sure && has != e.Outstanding() {
			m.fail(s, "an end has %d credits, and was granted %d", has, e.Outstanding())
		}
	}
}

// credits returns the credits of side i. It adds the credits on their way to side i, and one for
// each message in flight from side i that uses one. It is not sure if an ERROR is on its way, which
// may be worth a credit.
func (s *state) credits(i int) (n int, sure bool) {
	n, sure = s.sides[i].Available(), true
	for _, p := range s.to[1-i].all() {
		if !p.gift {
			n++
		}
	}
	for _, p := range s.to[i].all() {
		n += int(p.word & 0xffff)
		sure = sure && p.class != credit.Error
	}
	return n, sure
}

// finished asserts that in a state without a possible step no work is left, and that either end can
// make a Call. Before the first grant only the client can.
func (m *model) finished(s *state) {
	for i := range s.sides {
		e := &s.sides[i]
		switch {
		case e.InFlight() > 0 || e.Busy() > 0 || e.parts > 0:
			m.fail(s, "no step is possible, and work is left")
		case (i == 0 || s.begun && !m.oneWay) && !e.Free(credit.Call):
			m.fail(s, "no credit for a Call, and none will come")
		}
	}
}

// finish visits every state that follows s if no new work begins. They form no loop: without work
// messages end.
func (m *model) finish(s *state) {
	k := maphash.Comparable(m.seed, *s)
	if done, ok := m.seen[k]; ok || m.found != "" {
		if ok && !done {
			m.fail(s, "messages without work")
		}
		return
	}
	m.seen[k] = false
	m.frontier = append(m.frontier, *s)
	m.check(s)
	last := true
	m.moves(s, false, func(n *state) {
		last = false
		m.finish(n)
	})
	if last {
		m.finished(s)
	}
	m.seen[k] = true
}

// explore visits all states that two ends can reach, over all interleavings, with no limit on the
// number of Calls. It returns their number and the first fault. States are known by a hash of 64
// bits: that two of a million share one, and one of them is missed, has a chance of 1 in 10^7.
//
// The search has no step for a cancelled Call: it stays in flight, and the account sees what it
// sees of any Call that is answered late (T14, R181).
func (m model) explore() (states int, found string) {
	m.seed, m.seen = maphash.MakeSeed(), map[uint64]bool{}
	var s state
	for i := range s.sides {
		e := &s.sides[i]
		e.V2 = credit.NewV2(i == 0, m.ceilings[i], 0)
		if m.oneWay && i == 0 {
			e.V2 = credit.NewV2(true, 0, m.ceilings[i])
		}
		e.Posted(e.Receives())
		e.receives = uint8(e.Receives())
		if m.broken == "posts too few Receives" {
			e.receives -= 2
		}
	}
	for i := range s.sides { // the first messages show that both are kin
		m.send(&s, i, packet{class: credit.Other})
		m.deliver(&s, 1-i)
	}
	m.finish(&s)
	for len(m.frontier) > 0 && m.found == "" {
		s := m.frontier[len(m.frontier)-1] // the last, so that few states are kept
		m.frontier = m.frontier[:len(m.frontier)-1]
		m.moves(&s, true, m.finish)
	}
	if m.found != "" {
		m.found = fmt.Sprintf("%s: %+v", m.found, m.at)
	}
	return len(m.seen), m.found
}
