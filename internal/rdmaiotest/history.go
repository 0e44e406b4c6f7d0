package rdmaiotest

import (
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/golden"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// Mark returns the number of events so far, for Since.
func (w *World) Mark() int {
	w.settle()
	return len(w.History.Events())
}

// Since returns the events from number n on that move messages, data or keys. Polling and waiting
// are left out, and the rest is numbered again from 1.
func (w *World) Since(n int) (list []trace.Event) {
	w.settle()
	for _, e := range w.History.Events()[n:] {
		switch e.Kind {
		case trace.PostSend, trace.PostRecv, trace.Complete, trace.Register, trace.Reregister, trace.Redirect, trace.Invalidate, trace.Deregister,
			trace.Alloc, trace.RefuseSend, trace.RefuseRecv, trace.Lost:
			e.Seq = uint64(len(list) + 1)
			list = append(list, e)
		}
	}
	return list
}

// Golden compares events with a golden file, over memory, where they are the same in each run.
func (w *World) Golden(t *testing.T, name string, list []trace.Event) {
	t.Helper()
	if w.Net != nil {
		golden.CheckString(t, name, Render(list))
	}
}

// Render writes events, one a line.
func Render(list []trace.Event) string {
	var b strings.Builder
	for _, e := range list {
		b.WriteString(e.String() + "\n")
	}
	return b.String()
}

// Count returns how many events match.
func Count(list []trace.Event, match func(e *trace.Event) bool) (n int) {
	for i := range list {
		if match(&list[i]) {
			n++
		}
	}
	return n
}

// IsSend reports whether e posts a message.
func IsSend(e *trace.Event) bool {
	return e.Kind == trace.PostSend && (e.Opcode == verbs.Send || e.Opcode == verbs.SendWithInvalidate)
}
