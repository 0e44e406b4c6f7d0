package monitor

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// call is a Call in progress that began during a recording. The Monitor's mu guards the fields from
// received on.
type call struct {
	key
	peer  string
	xid   uint32
	began time.Time

	received, sent int
	steps          oncrpc.Steps
	lent, ended    bool // of a Call that a client makes: it writes to steps, and it is over
	listed         bool
	prev, next     *call
}

// progress is the list of the Calls in progress, oldest first. The Monitor's mu guards it.
type progress struct {
	first, last *call
	n           int
}

// add appends a Call.
func (l *progress) add(c *call) {
	c.listed, c.prev, c.next = true, l.last, nil
	if l.last == nil {
		l.first = c
	} else {
		l.last.next = c
	}
	l.last = c
	l.n++
}

// remove removes a Call, if it is in the list.
func (l *progress) remove(c *call) {
	if !c.listed {
		return
	}
	if c.prev == nil {
		l.first = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		l.last = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.listed, c.prev, c.next = false, nil, nil
	l.n--
}

// nameOf returns the name of a procedure.
func (m *Monitor) nameOf(k key) string {
	name, _ := m.describe(k)
	return name
}

// describe returns the name of a procedure, and whether Config.Programs has it.
func (m *Monitor) describe(k key) (name string, known bool) {
	for i := range m.cfg.Programs {
		p := &m.cfg.Programs[i]
		if p.Number != k.prog || p.Version != k.vers {
			continue
		}
		name = p.Procedures[k.proc]
		if known = name != ""; !known {
			name = fmt.Sprint("procedure ", k.proc)
		}
		if p.Name != "" {
			name = p.Name + " " + name
		}
		return name, known
	}
	return fmt.Sprintf("%d v%d procedure %d", k.prog, k.vers, k.proc), false
}

// begin adds a Call to those in progress.
func (m *Monitor) begin(c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.progress.add(c)
}

// finish takes a Call out of those in progress, and counts it with the bytes of its second message.
// It returns nil if that was done before.
func (m *Monitor) finish(c *call, outcome string, bytes int) *Procedure {
	at := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !c.listed {
		return nil
	}
	m.progress.remove(c)
	if c.made {
		c.received = bytes
	} else {
		c.sent = bytes
	}
	return m.ended(c, outcome, at)
}
