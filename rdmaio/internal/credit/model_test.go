package credit_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/credit"
)

// end is one end of a connection. It has the accounts under test, for its own Calls and for those
// that it serves, and nothing else of the product.
type end struct {
	req  credit.Requester
	resp credit.Responder
	work uint8 // Calls in the handler
}

// sent is a message: a Call, or a Reply with its grant.
type sent int8

const aCall sent = -1

// wire has the messages in one direction, in order.
type wire struct {
	msg [10]sent
	n   uint8
}

func (w *wire) push(m sent) { w.msg[w.n] = m; w.n++ }

func (w *wire) pop() sent {
	m := w.msg[0]
	copy(w.msg[:], w.msg[1:])
	w.n--
	w.msg[w.n] = 0
	return m
}

// connection has both ends and both directions: to[i] has the messages to end i.
type connection struct {
	ends [2]end
	to   [2]wire
}

// key is the whole state of a connection, packed so that ten million fit into memory.
type key [22]uint8

func (c *connection) key() (k key) {
	for i := range c.ends {
		e := &c.ends[i]
		k[6*i] = uint8(e.req.InFlight())
		k[6*i+1] = uint8(e.req.Granted())
		k[6*i+2] = uint8(e.resp.Outstanding())
		k[6*i+3] = uint8(e.resp.Busy())<<4 | c.to[i].n
		for j, m := range c.to[i].msg {
			k[12+5*i+j/2] |= uint8(m+1) << (4 * (j % 2))
		}
	}
	return k
}

// limits are the limits of one end.
type limits struct {
	calls, serves int
	missing       int // Receives, of the calls + serves that it should have
}

// explore visits every state of two peers that call each other, over all interleavings. A responder
// may grant less than it could at any time. In every state explore asserts that each message finds
// a Receive, no account is over its limit, and at least one step is possible. reserve returns the
// number of Receives reserved for Replies at an end that makes so many Calls.
//
// The other checks of credits see real messages, of some interleavings: rdmaiotest.Ledger sees
// connections over a provider, and sim's account sees engines on a simulated network. explore has
// no messages and sees all interleavings, so it is kept apart on purpose.
func explore(lim [2]limits, reserve func(calls int) int) (states int, found string) {
	var start connection
	for i, l := range lim {
		start.ends[i] = end{req: credit.NewRequester(l.calls), resp: credit.NewResponder(l.serves, reserve(l.calls))}
		start.ends[i].resp.Posted(l.calls + l.serves - l.missing)
	}
	seen := map[key]bool{start.key(): true}
	frontier := []connection{start}
	for len(frontier) > 0 {
		c := frontier[len(frontier)-1]
		frontier = frontier[:len(frontier)-1]
		moves := 0
		move := func(do func(*connection)) {
			moves++
			next := c
			do(&next)
			if k := next.key(); !seen[k] {
				seen[k] = true
				frontier = append(frontier, next)
			}
		}
		for i := range c.ends {
			e, l := &c.ends[i], lim[i]
			if e.req.InFlight() > l.calls || e.resp.Busy() > l.serves {
				return len(seen), "an account beyond its limit"
			}
			if l.calls > 0 && e.req.Free() {
				move(func(n *connection) { n.ends[i].req.Sent(); n.to[1-i].push(aCall) })
			}
			if int(c.to[i].n) > e.resp.Outstanding() { // however late this end polls
				return len(seen), "a message finds no Receive"
			}
			if c.to[i].n > 0 {
				if c.to[i].msg[0] == aCall && e.resp.Busy() == l.serves {
					return len(seen), "a Call within the grant is dropped"
				}
				move(func(n *connection) {
					e := &n.ends[i]
					e.resp.Taken()
					m := n.to[i].pop()
					if m == aCall {
						e.resp.Accept()
						e.work++
						return
					}
					e.req.Grant(uint32(m))
					e.req.Ended()
					e.resp.Posted(1)
				})
			}
			if e.work > 0 {
				for grant := range uint32(l.serves) {
					move(func(n *connection) {
						e := &n.ends[i]
						e.resp.Posted(1)
						e.resp.Answered()
						e.work--
						n.to[1-i].push(sent(e.resp.Grant(grant + 1)))
					})
				}
			}
		}
		if moves == 0 {
			return len(seen), "no step is possible"
		}
	}
	return len(seen), ""
}

// same returns the reserve of the engine: one Receive for each Call.
func same(calls int) int { return calls }

// All interleavings of both directions on one connection keep the rules (R127, R130, R133, R266,
// R270, R271, R283).
func TestAllInterleavings(t *testing.T) {
	total, due := 0, 10_000_000
	long, near := [2]limits{{6, 2, 0}, {2, 6, 0}}, [2]limits{{4, 4, 0}, {4, 3, 0}}
	if testing.Short() {
		long, near, due = [2]limits{{4, 2, 0}, {2, 4, 0}}, [2]limits{{3, 3, 0}, {3, 3, 0}}, 100_000
	}
	for _, lim := range [][2]limits{
		{{calls: 5}, {serves: 5}}, // one direction
		long, near,
		{{5, 1, 0}, {4, 2, 0}}, // each asks for another number of credits than the other grants
		{{3, 4, 2}, {4, 4, 1}}, // with fewer Receives grants are lower, and all else holds
	} {
		n, found := explore(lim, same)
		if t.Logf("%v: %d states", lim, n); found != "" {
			t.Errorf("%v: %s", lim, found)
		}
		total += n
	}
	if t.Logf("%d states in all", total); total < due {
		t.Errorf("%d states, want at least %d", total, due)
	}
}

// The canary: with too few Receives, explore reports an account that grants the Receives that
// Replies need, and an account that has no Receive at all for the first Call.
func TestModelSees(t *testing.T) {
	few := [2]limits{{3, 4, 2}, {4, 4, 1}}
	if n, found := explore(few, func(int) int { return 0 }); found != "a message finds no Receive" {
		t.Errorf("nothing reserved: %q after %d states", found, n)
	}
	few[0].missing = 4
	if n, found := explore(few, same); found != "a message finds no Receive" {
		t.Errorf("no Receive for the one Call that needs no grant: %q after %d states", found, n)
	}
}
