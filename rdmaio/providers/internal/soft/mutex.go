package soft

import "sync"

// Mutex is a lock for code that adds completions. It collects the notifications that become
// due, and runs them after it is unlocked.
type Mutex struct {
	sync.Mutex
	due       []notification
	spare     []notification // memory for due
	notifying bool           // a goroutine runs notifications
}

// notification is a call of a completion queue's notify, or else of a queue pair's.
type notification struct {
	cq *CompletionQueue
	qp func()
}

// UnlockNotify unlocks m and runs the notifications that are due. If another goroutine, or
// an outer call of this one, is running notifications, it leaves them to that one. So a
// notification may post on its own queue pair, and two queue pairs that answer each other do
// not recurse.
func (m *Mutex) UnlockNotify() {
	if m.notifying || len(m.due) == 0 {
		m.Unlock()
		return
	}
	m.notifying = true
	batch := m.due
	m.due = m.spare[:0]
	m.Unlock()
	m.run(batch, 0)
}

// NotifyLocked runs the notifications that are due without the lock, and locks m again, also if one
// exits the goroutine.
func (m *Mutex) NotifyLocked() {
	defer m.Lock()
	m.UnlockNotify()
}

// run runs the notifications of a batch from the next one on, and all that become due. If one exits
// the goroutine, another goroutine runs the others.
func (m *Mutex) run(batch []notification, next int) {
	returned := false
	defer func() {
		if !returned {
			go m.run(batch, next)
		}
	}()
	for {
		for next < len(batch) {
			n := batch[next]
			next++
			if n.cq != nil {
				n.cq.fire()
			} else {
				n.qp()
			}
		}
		clear(batch)
		m.Lock()
		m.spare = batch
		if len(m.due) == 0 {
			break
		}
		batch, next = m.due, 0
		m.due = m.spare[:0]
		m.Unlock()
	}
	m.notifying = false
	m.Unlock()
	returned = true
}

// push adds a completion to a queue. m is locked.
func (m *Mutex) push(cq *CompletionQueue, e entry, solicited bool) {
	if cq.push(e, solicited) {
		m.due = append(m.due, notification{cq: cq})
	}
}

// Notify makes a call of f due, unless it is nil. m is locked.
func (m *Mutex) Notify(f func()) {
	if f != nil {
		m.due = append(m.due, notification{qp: f})
	}
}
