package monitor

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Procedure counts the Calls to a procedure.
type Procedure struct {
	Made bool   // Calls that a client of this process made; otherwise Calls that a server got
	Peer string // the host of the peer, with Config.ByPeer
	Name string // "NFS3 GETATTR", or the numbers; "others" beyond Config.MaxProcedures

	// Outcomes are by the status of the reply (RFC 5531 §9): "SUCCESS", "PROC_UNAVAIL" and so on,
	// or "dropped", "panic" and "no reply".
	Outcomes map[string]uint64

	Received, Sent uint64 // bytes of messages

	// Times of Calls that ended: of a Call that a server got, from its handler's begin to the
	// reply; of one that a client made, from Call to its return.
	Times Times

	// Sending has the times from a handler's reply until the carrier has sent it.
	Sending Times

	// Parts has the parts of the time, for Calls that a client made and that were answered. It is
	// nil without such a Call, or if the carrier does not know its steps (oncrpc.Steps).
	Parts *Parts
}

// Parts divides the times that Calls of a client took.
type Parts struct {
	Waited   Times // for a connection, and there for a place or a credit
	Sent     Times // until memory was registered and the transport had the message
	Served   Times // until the reply had come: the network, and the server
	Received Times // until the Call ended: keys invalidated, copies, the goroutine that waits
}

// add counts a Call that began and ended at two times.
func (p *Parts) add(s *oncrpc.Steps, began, ended time.Time) {
	sent := s.Sent
	if sent.After(s.Answered) { // the write had not returned
		sent = s.Answered
	}
	p.Waited.add(s.Placed.Sub(began))
	p.Sent.add(sent.Sub(s.Placed))
	p.Served.add(s.Answered.Sub(sent))
	p.Received.add(ended.Sub(s.Answered))
}

// key has the fields by which Calls are counted together.
type key struct {
	made       bool
	peer       string
	prog, vers uint32
	proc       uint32
}

// counts has the Procedures by their keys. The Monitor's mu guards it.
type counts struct {
	most   int
	kept   int // places that only known procedures get
	made   int // Procedures that are not known
	of     map[key]*Procedure
	others [2]*Procedure // beyond most: got, made
}

// get returns the Procedure of a key. describe is called for a new one: it returns the name, and
// whether the procedure is known.
func (c *counts) get(k key, describe func() (name string, known bool)) *Procedure {
	if p := c.of[k]; p != nil {
		return p
	}
	if len(c.of) < c.most {
		if name, known := describe(); known || c.made < c.most-c.kept {
			if !known {
				c.made++
			}
			if c.of == nil {
				c.of = make(map[key]*Procedure)
			}
			p := newProcedure(k, name)
			c.of[k] = p
			return p
		}
	}
	i := 0
	if k.made {
		i = 1
	}
	if c.others[i] == nil {
		k.peer = ""
		c.others[i] = newProcedure(k, others)
	}
	return c.others[i]
}

func newProcedure(k key, name string) *Procedure {
	return &Procedure{Made: k.made, Peer: k.peer, Name: name, Outcomes: make(map[string]uint64)}
}

// all returns copies of the Procedures, those with most Calls first.
func (c *counts) all() []Procedure {
	var all []Procedure
	for _, p := range c.of {
		all = append(all, *p)
	}
	for _, p := range c.others {
		if p != nil {
			all = append(all, *p)
		}
	}
	for i := range all {
		all[i].Outcomes = maps.Clone(all[i].Outcomes)
		if p := all[i].Parts; p != nil {
			parts := *p
			all[i].Parts = &parts
		}
	}
	slices.SortFunc(all, func(a, b Procedure) int {
		return cmp.Or(cmp.Compare(b.Times.Count, a.Times.Count), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Peer, b.Peer))
	})
	return all
}

// ended counts a Call that is over. m.mu must be held.
func (m *Monitor) ended(c *call, outcome string, at time.Time) *Procedure {
	k, host := c.key, hostOf(c.peer)
	if m.cfg.ByPeer {
		k.peer = host
	}
	p, took := m.counts.get(k, func() (string, bool) { return m.describe(k) }), at.Sub(c.began)
	p.Outcomes[outcome]++
	p.Times.add(took)
	p.Received += uint64(c.received)
	p.Sent += uint64(c.sent)
	if s := &c.steps; !s.Placed.IsZero() && !s.Sent.IsZero() && !s.Answered.IsZero() {
		if p.Parts == nil {
			p.Parts = new(Parts)
		}
		p.Parts.add(s, c.began, at)
	}
	m.peers.get(peerKey{c.made, printable(host)}).add(c, outcome, took)
	return p
}
