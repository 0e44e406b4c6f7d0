package sim

import (
	"math/rand/v2"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header1"
)

// Fault is a kind of thing that goes wrong.
type Fault int

// The faults.
const (
	Break       Fault = iota // the connection ends, each end hears of it in its time
	CloseClient              // the side that dialed closes it
	CloseServer              // the side that accepted does
	Stall                    // nothing moves for longer than the engines wait
	Hiccup                   // nothing moves for a while
	LateWC                   // a completion comes late
	Cancel                   // a caller gives up
	NoMemory                 // a Call with chunks gets no memory
	Refuse                   // a handler answers ERR_CHUNK
	Drop                     // a handler answers nothing
	Slow                     // a handler takes its time
	NoGrant                  // a Reply says 0 credits
	Narrow                   // a place for results is smaller than the result
	NoDone                   // a client of the draft does not say that it has read a reply
	Pad                      // a peer of the draft puts padding into a message
	RefusePost               // a provider refuses a post, from some request on
	Resize                   // both ends agree on another inline size for one direction
	Faults                   // how many kinds there are
)

var faultNames = [Faults]string{
	"break", "close-client", "close-server", "stall", "hiccup", "late-completion", "cancel", "no-memory",
	"refuse", "drop", "slow", "no-grant", "narrow", "no-done", "padding", "refused-post", "resize",
}

// String names the fault.
func (f Fault) String() string { return faultNames[f] }

// Config is what to simulate.
type Config struct {
	Seed uint64
	RPCs int // made by the client; those the other way are a third of it

	// Sabotage, if not nil, is a bug of the network, for tests of the oracles.
	Sabotage func(*Message)

	// Unflushed is a bug of the provider, likewise: what follows a flushed request has succeeded.
	Unflushed bool

	// ReleaseEarly is a bug of the engine, likewise: a handler's memory is released when its reply was handed over.
	ReleaseEarly bool
}

// Message is what a Sabotage may change.
type Message struct {
	Bytes []byte // on their way
	Copy  bool   // deliver it twice
}

// Result is how it went.
type Result struct {
	Trace     string         // hash of all events
	Events    int            // how many
	Failures  []string       // what should not have been; the first few
	Fired     [Faults]int    // faults of each kind that came to pass
	Outcomes  map[string]int // RPCs by how they ended
	Time      time.Duration  // of the simulated clock
	Links     int            // connections made
	FromCache int            // Calls answered from a cache of replies
}

// draw is what a seed decides for the whole run. Each seed has rates of its own, and
// none at all for about half of the kinds: some faults hide others.
type draw struct {
	rate          [Faults]float64 // a chance each time it could happen
	credits       [2]int          // of Calls by the client, and by the server: 0 is none
	limits        [2]int          // what each side grants at most to the other
	sendWRs       [2]int
	own           [2]header1.Private // of each side
	silent        [2]bool            // the side sends no private data of RFC 8797
	inline        [2]int             // bytes that the side sends at most
	reverseChunks bool
	invalidate    bool    // both sides allow it
	reads         [2]int  // RDMA Reads at a time; 0 is no limit
	cache         bool    // the servers have one of replies
	follows       [2]bool // the side follows the draft: engine.Config.Legacy
	legacy        bool    // both do, so that replies go by read chunks
}

func newDraw(r *rand.Rand) draw {
	var d draw
	for f := range d.rate {
		if r.IntN(2) == 0 {
			d.rate[f] = r.Float64() * r.Float64() * 0.2
		}
	}
	for _, f := range []Fault{Break, CloseClient, CloseServer, Stall, RefusePost} { // these cost a connection
		d.rate[f] *= 0.05
	}
	for i := range 2 {
		d.credits[i] = 1 + r.IntN(8)
		d.limits[i] = 1 + r.IntN(8)
		d.sendWRs[i] = 16 + r.IntN(40) // the most that one RPC here needs, at least
		d.own[i] = header1.Private{
			Send: header.LeastInline * (1 + r.IntN(3)), Recv: header.LeastInline * (1 + r.IntN(3)), RemoteInvalidate: r.IntN(4) > 0,
		}
		d.silent[i] = r.IntN(8) == 0
	}
	if d.silent[0] || d.silent[1] { // RFC 8797 §5.1
		d.inline = [2]int{header.LeastInline, header.LeastInline}
	} else { // §4.1, §4.2
		d.inline = [2]int{min(d.own[0].Send, d.own[1].Recv), min(d.own[1].Send, d.own[0].Recv)}
		d.invalidate = d.own[0].RemoteInvalidate && d.own[1].RemoteInvalidate
	}
	if r.IntN(3) == 0 {
		d.credits[1] = 0 // no reverse Calls
	}
	d.reverseChunks = r.IntN(2) == 0
	d.rate[NoDone] = min(1, 5*d.rate[NoDone]) // few replies go by read chunks
	if d.rate[Resize] /= 10; r.IntN(2) == 0 { // Replies that were planned are refused for it
		d.rate[Resize] = 0
	}
	d.reads = [2]int{r.IntN(4), r.IntN(4)}
	d.cache = r.IntN(3) > 0
	if r.IntN(3) == 0 {
		d.follows = [2]bool{true, true}
	} else if r.IntN(4) == 0 {
		d.follows[r.IntN(2)] = true
	}
	d.legacy = d.follows[0] && d.follows[1]
	if d.follows[0] || d.follows[1] {
		d.reverseChunks = false // a whole message by read chunk is either
	}
	return d
}
