package sim

import (
	"math/rand/v2"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
)

// Fault is a kind of fault that a simulation injects.
type Fault int

// The faults.
const (
	Break       Fault = iota // the connection breaks; each end is notified after a while
	CloseClient              // the side that dialed closes it
	CloseServer              // the side that accepted does
	Stall                    // no request is carried out for longer than the engines wait
	Hiccup                   // no request is carried out for a while
	LateWC                   // a completion comes late
	Cancel                   // a caller cancels its Call
	NoMemory                 // there is no memory for a Call with chunks, or for a send buffer
	Refuse                   // a handler answers ERR_CHUNK
	Drop                     // a handler does not answer
	Slow                     // a handler answers late
	NoGrant                  // a Reply grants 0 credits
	Narrow                   // a write chunk is smaller than its result
	NoDone                   // the network loses an RDMA_DONE
	Pad                      // a message gets the padding of the draft
	RefusePost               // a provider refuses a post from some request on
	Resize                   // the ends negotiate another inline size for one direction
	Vanish                   // the network carries nothing any more, and each end notices late
	NoDial                   // an attempt to connect fails
	LateTimer                // a timer fires late
	Extend                   // an end of version 2 changes the size of its Receives
	NoRegister               // a registration fails
	Over                     // a Call has more segments than its peer takes
	KeepAlive                // a stranger sends a Grant without need
	Faults                   // number of kinds
)

var faultNames = [Faults]string{
	"break", "close-client", "close-server", "stall", "hiccup", "late-completion", "cancel", "no-memory",
	"refuse", "drop", "slow", "no-grant", "narrow", "no-done", "padding", "refused-post", "resize", "vanish", "no-dial", "late-timer", "extend", "no-register", "over-limit", "keep-alive",
}

// String returns the name of the fault.
func (f Fault) String() string { return faultNames[f] }

// Config configures a simulation.
type Config struct {
	Seed uint64
	RPCs int // made by the client; the server makes a third of that

	// Bugs are mistakes that the oracles must find.
	Bugs Bugs

	// Swarm, if not nil, changes the random choices of the run.
	Swarm func(*draw)
}

// Result is the result of a simulation.
type Result struct {
	Trace     string // hash of all events
	Events    int
	Failures  []string       // the first ten
	Fired     [Faults]int    // number of faults by kind
	Outcomes  map[string]int // number of RPCs by outcome
	Time      time.Duration  // of the simulated clock
	Links     int            // connections made
	Most      int            // the largest number at a time
	FromCache int            // Calls answered from a reply cache
	Probes    int            // connections probed for a cache
	Again     int            // Calls that a cache has held back and served later
	Others    int            // messages of the extension
	Waited    int            // Calls that waited for memory of the server
	Server    served
	Stranger  bool          // an end is not the product's
	Held      int           // the largest memory of the server for Calls and replies
	Client    machine.Stats // of the client's connections

	Version  int  // of the connections; 0: the ends have no common version
	FellBack bool // from version 2 to version 1
	Mixed    bool // an end has version 2
	Ones     bool // version 2, with ceilings of one credit
	Parts    int  // messages that were parts of continued ones
	CutParts int  // continued messages whose Call was cancelled while they were sent
	Broken   int  // continued messages that the end of a connection cut off
}

// served counts what the server has decided.
type served struct {
	cancelled int // Requests whose callers have given up
	queued    int // Requests that waited for a place
	displaced int // connections closed to make room
	rejected  int // connections for which there was no room
}

// draw has the random choices for a whole run. Each seed has its own rates of faults. About half of
// the kinds have rate 0, since some faults hide others.
type draw struct {
	rate          [Faults]float64 // probability each time that the fault could happen
	credits       [2]int          // that client and server ask for; 0: it makes no Calls
	limits        [2]int          // that client and server grant at most
	sendWRs       [2]int
	own           [2]v1.Private // advertised by each side
	silent        [2]bool       // the side advertises nothing (RFC 8797)
	inline        [2]int        // bytes that the side sends inline at most
	reverseChunks bool
	invalidate    bool    // both sides allow it
	agreed        [2]int  // bytes that the side sends inline at most, by the private data
	reads         [2]int  // RDMA Reads at a time; 0: no limit
	cache         bool    // the servers have a reply cache
	follows       [2]bool // the side follows the draft: engine.Config.Legacy
	legacy        bool    // both do, so replies may have read chunks
	lends         [2]bool // the side's provider lends the memory of its Receives
	rules         rules
	onDemand      [2]bool // the side's device has memory on demand
	stranger      int     // side that is not the product's, from 1; 0: none
	lazy          bool    // it grants only to an end without credits
	limited       bool    // the server's memory for Calls and replies has a limit
	handlers      int     // shared places for handlers at the server; 0: no limit
	places        int     // of the client's connections at the server; 0: no limit
}

// rules are the choices for the client's connections.
type rules struct {
	connections  int
	dialFailures int // negative: no limit
	waits        bool
	idle, stuck  time.Duration
}

// newRules makes the choices for the client's connections.
func newRules(r *rand.Rand) rules {
	c := rules{
		connections: 1 + r.IntN(3), dialFailures: []int{-1, -1, 0, 3}[r.IntN(4)], waits: r.IntN(2) == 0,
		stuck: time.Duration(4+r.IntN(8)) * time.Second,
	}
	if r.IntN(2) == 0 {
		c.idle = time.Duration(1+r.IntN(4000)) * time.Millisecond
	}
	return c
}

// newDraw makes the choices for a run.
func newDraw(r *rand.Rand) draw {
	var d draw
	for f := range d.rate {
		if r.IntN(2) == 0 {
			d.rate[f] = r.Float64() * r.Float64() * 0.2
		}
	}
	// These end a connection, so they are rare.
	for _, f := range []Fault{Break, CloseClient, CloseServer, Stall, RefusePost, Vanish} {
		d.rate[f] *= 0.05
	}
	for i := range 2 {
		d.credits[i] = 1 + r.IntN(8)
		d.limits[i] = 1 + r.IntN(8)
		d.sendWRs[i] = 4 + r.IntN(52) // one RPC needs up to 16, in batches then
		d.own[i] = v1.Private{
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
	d.agreed = d.inline
	if r.IntN(3) == 0 {
		d.credits[1] = 0 // no reverse Calls
	}
	d.reverseChunks = r.IntN(2) == 0
	d.rate[NoDone] = min(1, 5*d.rate[NoDone]) // few replies have read chunks
	if d.rate[Resize] /= 10; r.IntN(2) == 0 { // it makes planned Replies fail
		d.rate[Resize] = 0
	}
	d.reads = [2]int{r.IntN(4), r.IntN(4)}
	d.cache = r.IntN(3) > 0
	if r.IntN(3) == 0 {
		d.follows = [2]bool{true, true}
	} else if r.IntN(4) == 0 {
		d.follows[r.IntN(2)] = true
	}
	d.lends = [2]bool{r.IntN(2) == 0, r.IntN(2) == 0}
	d.rules = newRules(r)
	d.rate[Extend] /= 4
	d.rate[KeepAlive] = 0 // but see versions.strange
	d.limited = r.IntN(3) == 0
	if r.IntN(3) == 0 {
		d.handlers = 1 + r.IntN(3)
	}
	if d.rate[Over] /= 2; r.IntN(3) == 0 {
		d.places = 1 + r.IntN(d.rules.connections)
	}
	d.onDemand = [2]bool{r.IntN(2) == 0, r.IntN(2) == 0}
	d.legacy = d.follows[0] && d.follows[1]
	if d.follows[0] || d.follows[1] {
		d.reverseChunks = false // an RDMA_NOMSG with read chunks could be either
	}
	return d
}
