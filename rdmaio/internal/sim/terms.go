package sim

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header1"
)

// private returns the private data that a side sends when a connection is made: bytes of another layer, which may look
// like an unknown version of RFC 8797, with its own behind them, unless it is silent.
func (w *world) private(i int) []byte {
	b := []byte("\xf6\xab\x0e\x18\x02upper layer")[:w.rng.IntN(17)]
	if w.draw.silent[i] {
		return b
	}
	return w.draw.own[i].Append(b)
}

// agree returns the terms of a side, by the private data of its peer, and compares them with those that RFC 8797 gives.
// R37, R265, R331
func (w *world) agree(i int, private []byte) *header.Terms {
	own := w.draw.own[i]
	if w.draw.silent[i] {
		own = header1.DefaultPrivate()
	}
	peer, _ := header1.FindPrivate(private)
	terms := header1.Agree(own, peer)
	if want := (header.Terms{Send: w.draw.inline[i], Recv: w.draw.inline[1-i], RemoteInvalidate: w.draw.invalidate}); terms != want {
		w.fail("%s: terms %+v by private data %x, want %+v", names[i], terms, private, want)
	}
	terms.Reads = w.draw.reads[i]
	return &terms
}

// resize lets both ends agree on another inline size for the messages of one side, no larger than that of the connection's
// set-up, for which there is memory. Calls and Replies that were planned for the old size may fail then (rdmaio.Conn.SetTerms).
func (l *link) resize() {
	i := l.w.rng.IntN(2)
	l.inline[i] = header.LeastInline + l.w.rng.IntN(l.w.draw.inline[i]-header.LeastInline+1)&^3
	for i, e := range l.ends {
		terms := &header.Terms{
			Send: l.inline[i], Recv: l.inline[1-i], RemoteInvalidate: l.w.draw.invalidate, Reads: l.w.draw.reads[i],
		}
		e.step(engine.Event{Kind: engine.EventTerms, Terms: terms})
	}
}
