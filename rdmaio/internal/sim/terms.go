package sim

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
)

// private returns the private data that a side sends at connection setup: bytes of another layer,
// which may look like an unknown version of RFC 8797, and then its own, unless it is silent.
func (w *world) private(i int) []byte {
	b := []byte("\xf6\xab\x0e\x18\x02upper layer")[:w.rng.IntN(17)]
	if w.draw.silent[i] {
		return b
	}
	return w.draw.own[i].Append(b)
}

// agree returns the terms of a side for the private data of its peer. It compares them with those
// that RFC 8797 requires (R37, R265, R331).
func (w *world) agree(i int, private []byte) *header.Terms {
	own := w.draw.own[i]
	if w.draw.silent[i] {
		own = v1.DefaultPrivate()
	}
	peer, _ := v1.FindPrivate(private)
	terms := v1.Agree(own, peer)
	if want := (header.Terms{Send: w.draw.agreed[i], Recv: w.draw.agreed[1-i], RemoteInvalidate: w.draw.invalidate}); terms != want {
		w.fail("%s: terms %+v by private data %x, want %+v", names[i], terms, private, want)
	}
	terms.Reads = w.draw.reads[i]
	return &terms
}

// resize gives both ends another inline size for the messages of one side. It is at most the size
// of connection setup, for which there is memory. Calls and Replies that were planned for the old
// size may fail then (rdmaio.Conn.SetTerms).
func (l *link) resize() {
	i := l.w.rng.IntN(2)
	l.inline[i] = header.LeastInline + l.w.rng.IntN(l.w.draw.inline[i]-header.LeastInline+1)&^3
	for i, e := range l.ends {
		terms := &header.Terms{
			Send: l.inline[i], Recv: l.inline[1-i], RemoteInvalidate: l.w.draw.invalidate, Reads: l.w.draw.reads[i],
		}
		e.step(engine.Event{Kind: engine.EventTerms, Control: &engine.Control{Terms: terms}})
	}
}
