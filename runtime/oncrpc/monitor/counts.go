package monitor

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"time"
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
	of     map[key]*Procedure
	others [2]*Procedure // beyond most: got, made
}

// get returns the Procedure of a key. name is called for a new one.
func (c *counts) get(k key, name func() string) *Procedure {
	if p := c.of[k]; p != nil {
		return p
	}
	if len(c.of) < c.most {
		if c.of == nil {
			c.of = make(map[key]*Procedure)
		}
		p := newProcedure(k, name())
		c.of[k] = p
		return p
	}
	i := 0
	if k.made {
		i = 1
	}
	if c.others[i] == nil {
		k.peer = ""
		c.others[i] = newProcedure(k, "others")
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
	}
	slices.SortFunc(all, func(a, b Procedure) int {
		return cmp.Or(cmp.Compare(b.Times.Count, a.Times.Count), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Peer, b.Peer))
	})
	return all
}

// hostOf returns the host of an address: a peer has a new port for each connection.
func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// ended counts a Call that is over. m.mu must be held.
func (m *Monitor) ended(c *call, outcome string, took time.Duration) *Procedure {
	k := c.key
	if m.cfg.ByPeer {
		k.peer = hostOf(c.peer)
	}
	p := m.counts.get(k, func() string { return m.nameOf(k) })
	p.Outcomes[outcome]++
	p.Times.add(took)
	p.Received += uint64(c.received)
	p.Sent += uint64(c.sent)
	return p
}
