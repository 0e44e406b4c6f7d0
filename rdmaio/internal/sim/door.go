package sim

import (
	"errors"
	"iter"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// errOver is the reason of a Bug for the end of a connection.
var errOver = errors.New("sim: a Call over a limit")

// door is the server's limit of connections: the product's admission, which finds the one that has
// been idle for longest, as rdmaio.Server does it.
//
//	dial ──> Enter ──> a link more
//	           └── full: Longest is closed, Enter again ── none is idle: rejected
type door struct {
	w      *world
	conns  admission.Conns
	unused admission.Unused[*end]
	in     map[*end]bool
}

func newDoor(w *world) *door {
	d := &door{w: w, conns: admission.Conns{Most: w.draw.places}, in: make(map[*end]bool)}
	d.unused.Since = d.since
	return d
}

// enter counts a connection that is about to be made, and reports whether there is room.
func (d *door) enter() bool {
	v, _ := d.conns.Enter(admission.Source{Local: true})
	if v == admission.Admitted {
		return true
	}
	e, ok := d.unused.Longest(d.all(), epoch.Add(d.w.now))
	if !ok {
		d.w.tally.rejected++
		return false
	}
	if n := len(e.requests); n > 0 {
		d.w.fail("%s is closed with %d Calls in progress, to make room", e.name, n)
	}
	d.w.tally.displaced++
	e.close(errClosed)
	v, _ = d.conns.Enter(admission.Source{Local: true})
	return v == admission.Admitted
}

// add counts the server's end of a connection that enter has let in.
func (d *door) add(e *end) {
	d.in[e] = true
	if e.gone {
		d.leave(e)
	}
}

// leave uncounts an end that is down.
func (d *door) leave(e *end) {
	if d.in[e] {
		delete(d.in, e)
		d.conns.Leave(admission.Source{Local: true})
		d.unused.Forget(e)
	}
}

// all returns the ends inside, in their order.
func (d *door) all() iter.Seq[*end] {
	return func(yield func(*end) bool) {
		for _, l := range d.w.links {
			if e := l.ends[1]; d.in[e] && !yield(e) {
				return
			}
		}
	}
}

// since is admission.Unused.Since: an end is unused without a Call in either direction.
func (d *door) since(e *end) (since time.Time, ok bool) {
	s := e.eng.Stats()
	idle := e.heard && e.unread() == 0 && len(e.requests) == 0 && s.InFlight == 0 && s.Reverse.InFlight == 0
	return epoch.Add(e.used), idle || d.w.cfg.Bugs.Displace
}
