package sim

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// headSize is the size in bytes of a head, with which each Call and Reply begins. A Call has XID,
// type, version of RPC, program, version and procedure there (RFC 5531 §9), and the RPC's tag. A
// Reply has the number of the execution before the tag.
const headSize = 32

// tagOf returns the tag of a message.
func tagOf(b []byte) uint64 { return binary.BigEndian.Uint64(b[24:]) }

// rpc is one RPC, with its tries over one or more connections.
type rpc struct {
	from int    // 0: made by the client
	tag  uint64 // unique
	xid  uint32
	msg  []byte // the whole Call
	cut  []span // of msg, may be sent by read chunks

	want   []byte   // the reply without its results
	fill   [][]byte // the results
	places []int    // sizes of the write chunks for results
	back   []span   // of want, may be sent by read chunks
	chunk  int      // size of the reply chunk offered; 0: none
	narrow bool     // the reply or a result does not fit: the RPC is to be refused
	over   bool     // the reply chunk has more segments than the peer takes

	attempt
	tries int
	again machine.Tries
	waits *machine.Call[*end] // for a connection; nil: it does not

	failures uint64 // to connect, when its last try was over, or its wait began
	refusals int    // answers that refuse it
	givenUp  string // why its caller gave up, or ""
	sent     bool
	outcome  string
}

// attempt is the current try to get an RPC executed.
type attempt struct {
	call         engine.Call
	end          *end
	regions      []*region
	results      [][]byte
	reply        []byte
	demand       *mrpool.Region // for the reply, without memory before it comes
	lent         []byte         // memory of a continued Call
	result       uint64         // the execution that the reply comes from
	since        time.Duration  // when it began
	posted       bool
	byReadChunks bool // its reply has read chunks
}

// span is a part of a message, without its roundup.
type span struct{ at, n int }

// message makes a message of n bytes: the head of an RPC, then bytes from r.
func message(xid uint32, typ header.MsgType, tag uint64, n int, r *rand.Rand) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, n), xid)
	b = binary.BigEndian.AppendUint32(b, uint32(typ))
	for _, word := range []uint32{2, 400, 1, uint32(tag % 3)} { // three procedures
		if typ == header.Reply {
			word = 0
		}
		b = binary.BigEndian.AppendUint32(b, word)
	}
	b = binary.BigEndian.AppendUint64(b, tag)
	for len(b) < n {
		b = binary.BigEndian.AppendUint32(b, r.Uint32())
	}
	return b
}

// newRPC makes a random RPC.
func (w *world) newRPC(from int) *rpc {
	p := &rpc{from: from}
	p.tag, p.xid = w.calls.number(from)
	r := rand.New(rand.NewPCG(w.cfg.Seed, p.tag))
	there, back := w.draw.inline[from], w.draw.inline[1-from]
	chunks := w.draw.chunks(from)
	sizes := func(limit int) int { // of a message, often near the limit
		switch n := limit - w.versions.prefix() - 12; {
		case w.versions.is2() && r.IntN(4) == 0: // continued, or by chunk
			return headSize + 4*r.IntN(limit)
		case !chunks && !w.versions.is2():
			n = min(n, header.LeastInline-header.PrefixSize-12) // fits with any inline size
			return headSize + 4*r.IntN((n-headSize)/4+1)
		case r.IntN(4) == 0:
			return headSize + 4*r.IntN(3*limit/4)
		case r.IntN(2) == 0:
			return n/4*4 + 4*(r.IntN(9)-4)
		}
		return headSize + 4*r.IntN(64)
	}
	p.msg = message(p.xid, header.Call, p.tag, sizes(there), r)
	p.want = message(p.xid, header.Reply, p.tag, sizes(back), r)
	if !chunks {
		return p
	}
	p.cut = cut(p.msg, 3, r)
	if w.draw.legacy {
		p.back = cut(p.want, 2, r)
	}
	for r.IntN(2) == 0 && len(p.places) < 3 {
		n := r.IntN(400)
		data := make([]byte, r.IntN(n+1))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		p.places, p.fill = append(p.places, n), append(p.fill, data)
	}
	if w.draw.rate[Resize] > 0 || r.IntN(4) > 0 && !(w.draw.legacy && r.IntN(2) == 0) {
		p.chunk = len(p.want) + r.IntN(200)
	}
	if w.chance(Narrow) {
		if k := len(p.places); k > 0 && p.places[k-1] > 0 {
			p.fill[k-1] = make([]byte, p.places[k-1]+1)
		} else {
			p.chunk = len(p.want) / 2
		}
	}
	if p.chunk > mostSegments && w.chance(Over) {
		p.over, p.narrow = true, true
	}
	// Find out whether the reply will fit at the server.
	lists := 12
	for i, n := range p.places {
		lists += 8 + 16*segments(p.tag, i, n)
		p.narrow = p.narrow || len(p.fill[i]) > n
	}
	if p.chunk > 0 {
		lists += 4 + 16*p.replySegments()
	}
	inline := header.PrefixSize + lists + len(p.want)
	if !w.versions.is2() && inline > back && p.chunk < len(p.want) && !w.draw.mayOfferReadChunks(p) {
		p.narrow = true
	}
	if w.draw.rate[Resize] > 0 && inline > header.LeastInline { // the size may change
		p.narrow = true
	}
	return p
}

// cut chooses spans in a message, and clears their roundup.
func cut(b []byte, most int, r *rand.Rand) (list []span) {
	for at := headSize; r.IntN(2) == 0 && len(list) < most; {
		at += 4 * r.IntN(20)
		n := 1 + r.IntN(300)
		end := at + (n+3)/4*4
		if end > len(b) {
			break
		}
		list = append(list, span{at, n})
		clear(b[at+n : end])
		at = end
	}
	return list
}

// without returns a message without the spans and their roundup.
func without(b []byte, cut []span) (rest []byte) {
	at := 0
	for _, c := range cut {
		rest = append(rest, b[at:c.at]...)
		at = c.at + (c.n+3)/4*4
	}
	return append(rest, b[at:]...)
}

// mostSegments is the number of segments in a chunk that each end takes, and advertises.
const mostSegments = 8

// replySegments returns how many segments the reply chunk has.
func (p *rpc) replySegments() int {
	if p.over {
		return mostSegments + 1
	}
	return segments(p.tag, 9, p.chunk)
}

// segments returns how many segments chunk i with n bytes has. It depends on the tag only, so
// each try has the same. Some chunks have as many as the peer takes.
func segments(tag uint64, i, n int) int {
	switch {
	case n == 0:
		return 0
	case n >= mostSegments && (tag+uint64(i))%8 == 1:
		return mostSegments
	}
	return 1 + int((tag>>3+uint64(i))%3)*min(1, n/3)
}

// split cuts a region into k segments of random sizes.
func (e *end) split(r *region, k int, each func(header.Segment)) {
	at := 0
	for i := range k {
		n := int(r.length()) - at
		if left := k - 1 - i; left > 0 {
			n = 1 + e.w.rng.IntN(n-left)
		}
		each(header.Segment{Handle: r.key, Offset: r.addr + uint64(at), Length: uint32(n)})
		at += n
	}
}

// issue begins a try: it gives the message a random shape, and new memory with new keys.
func (p *rpc) issue(e *end) error {
	w := e.w
	p.tries++
	p.end, p.posted, p.byReadChunks, p.since = e, true, false, w.now
	p.regions, p.results, p.reply = p.regions[:0], p.results[:0], nil
	p.call = engine.Call{XID: p.xid, Owner: p, ReplyTo: poisoned(len(p.want) * w.rng.IntN(2))[:0]}
	l := &p.call.WithOffer().Lists
	place := func(n int) *region {
		r := e.mem.register(poisoned(n), verbs.AccessRemoteWrite)
		p.regions = append(p.regions, r)
		return r
	}
	for i, n := range p.places {
		l.AddWrite(0)
		if n == 0 {
			p.results = append(p.results, nil)
			continue
		}
		r := place(n)
		p.results = append(p.results, r.bytes)
		e.split(r, segments(p.tag, i, n), func(s header.Segment) { l.Writes[i] = append(l.Writes[i], s) })
	}
	if p.chunk > 0 {
		var r *region
		if e.domain == nil {
			r = place(p.chunk)
			p.reply = r.bytes
		} else {
			var err error
			if r, err = p.onDemand(e, p.chunk); err != nil {
				return err
			}
			p.regions = append(p.regions, r)
		}
		l.HasReply = true
		e.split(r, p.replySegments(), func(s header.Segment) { l.Reply = append(l.Reply, s) })
	}
	read := func(position int, data []byte) {
		r := e.mem.register(data, verbs.AccessRemoteRead)
		p.regions = append(p.regions, r)
		e.split(r, 1+w.rng.IntN(min(3, len(data))), func(s header.Segment) {
			l.Reads = append(l.Reads, header.ReadSegment{Position: uint32(position), Segment: s})
		})
	}
	if w.versions.is2() {
		p.issue2(e, read)
		return p.registered(w)
	}
	room := e.link.inline[e.i] - header.PrefixSize
	whole := len(p.msg)+l.Size() <= room
	if whole && w.rng.IntN(2) == 0 || p.from == 1 && !w.draw.reverseChunks {
		p.call.Payload = append(p.call.Payload, p.msg)
		return p.registered(w)
	}
	rest := without(p.msg, p.cut)
	p.call.Long = len(rest)+l.Size()+24*3*len(p.cut) > room
	if p.call.Long {
		read(0, rest)
	} else {
		p.call.Payload = append(p.call.Payload, rest)
	}
	for _, c := range p.cut {
		read(c.at, p.msg[c.at:c.at+c.n])
	}
	return p.registered(w)
}

// registered returns an error if the try could not register all memory.
func (p *rpc) registered(w *world) error {
	if len(p.regions) > 0 && w.chance(NoRegister) {
		return errRegister
	}
	return nil
}

// withdraw takes back what a try that is not sent has registered.
func (p *rpc) withdraw() {
	p.posted = false
	if p.demand != nil {
		p.collect(0)
	}
	for _, r := range p.regions {
		r.live = false
	}
}

// check compares the reply and results with those expected.
func (p *rpc) check(w *world) {
	c := &p.call
	got := strip(c.Reply, c.Padding, len(p.want))
	if c.LongReply > 0 {
		got = p.reply[:c.LongReply]
	}
	p.result = 0
	if len(got) >= headSize {
		p.result = resultOf(got)
		got = bytes.Clone(got)
		clear(got[16:24])
	}
	if !bytes.Equal(got, p.want) {
		w.fail("RPC %d: the reply differs: %d bytes, want %d", p.tag, len(got), len(p.want))
	}
	for i, place := range p.results {
		n := 0
		if i < len(c.Used) {
			n = int(c.Used[i])
		}
		switch {
		case place == nil: // a chunk of size 0 gets no result
		case !bytes.Equal(place[:n], p.fill[i]):
			w.fail("RPC %d: result %d differs: %d bytes, want %d", p.tag, i, n, len(p.fill[i]))
		case !bytes.Equal(place[n:], poisoned(len(place)-n)):
			w.fail("RPC %d: bytes after result %d were written", p.tag, i)
		}
	}
}
