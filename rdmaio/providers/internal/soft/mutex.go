package soft

import "sync"

// Mutex is a lock under which completions happen: it gathers the notifications
// that become due and runs them when it is free.
type Mutex struct {
	sync.Mutex
	due       []notification
	spare     []notification
	notifying bool // a goroutine is running notifications
}

// notification is a completion queue's, or else a queue pair's.
type notification struct {
	cq *CompletionQueue
	qp func()
}

// UnlockNotify unlocks and runs what became due under the lock, unless another
// goroutine, or an outer call of this one, is at it already. So a notification
// may post on its own queue pair, and two ends that answer each other do not
// recurse.
func (m *Mutex) UnlockNotify() {
	if m.notifying || len(m.due) == 0 {
		m.Unlock()
		return
	}
	m.notifying = true
	for len(m.due) > 0 {
		batch := m.due
		m.due = m.spare[:0]
		m.Unlock()
		for _, n := range batch {
			if n.cq != nil {
				n.cq.fire()
			} else {
				n.qp()
			}
		}
		clear(batch)
		m.Lock()
		m.spare = batch
	}
	m.notifying = false
	m.Unlock()
}

// push adds a completion to a queue. m is locked.
func (m *Mutex) push(cq *CompletionQueue, e entry, solicited bool) {
	if cq.push(e, solicited) {
		m.due = append(m.due, notification{cq: cq})
	}
}

// Notify makes f due; nil is allowed.
func (m *Mutex) Notify(f func()) {
	if f != nil {
		m.due = append(m.due, notification{qp: f})
	}
}
