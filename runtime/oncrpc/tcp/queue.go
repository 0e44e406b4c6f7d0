package tcp

import "github.com/rpcrdma/rpcrdma/runtime/oncrpc"

// message is a message to send, with its place in the send queue.
//
//	idle ──push──> queued ──take──> writing ──> sent
//	                  └──remove──> idle
//
// While it is writing, the connection reads the memory of the message.
type message struct {
	oncrpc.Message
	mark       [markSize]byte
	state      state
	prev, next *message

	// Exactly one is set.
	call    *pending
	request *request
}

type state uint8

const (
	idle state = iota
	queued
	writing
	sent
)

// queue is a list of messages, first come, first served.
type queue struct{ first, last *message }

// push appends a message.
func (q *queue) push(m *message) {
	m.state, m.prev, m.next = queued, q.last, nil
	if q.last == nil {
		q.first = m
	} else {
		q.last.next = m
	}
	q.last = m
}

// remove removes a message from any place.
func (q *queue) remove(m *message) {
	if m.prev == nil {
		q.first = m.next
	} else {
		m.prev.next = m.next
	}
	if m.next == nil {
		q.last = m.prev
	} else {
		m.next.prev = m.prev
	}
	m.state, m.prev, m.next = idle, nil, nil
}
