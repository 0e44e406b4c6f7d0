package machine

import "time"

// Conn has the questions of the machine to a connection. The answers are input, as events are.
type Conn interface {
	comparable
	Err() error // nil while it is up
}

// Rules say how a Client behaves. All fields with a function are required unless they say
// otherwise.
type Rules[C Conn] struct {
	Connections   int           // the largest number, at least 1
	MinBackoff    time.Duration // the first pause; zero: no pauses
	MaxBackoff    time.Duration // the longest pause
	DialFailures  int           // failures through which a Call waits; negative: no limit
	WaitForServer bool          // no limit holds before the first connection, too
	IdleTimeout   time.Duration // zero: none
	StuckTimeout  time.Duration // zero: none
	Keeps         bool          // the server may call, so there must always be a connection

	// Room returns the number of Calls that a connection can have now. It is not called with one
	// connection.
	Room func(C) int

	// Full names the resource that Room counts, for errors.
	Full string

	// Vitals returns what a connection has seen.
	Vitals func(C) Vitals

	// Lasting reports whether every further attempt to connect would fail as one did.
	Lasting func(error) bool

	// Disallowed reports whether this process may not connect, so that attempts for Calls of the
	// server would be in vain. If nil, it may.
	Disallowed func(error) bool

	// Closed is the error of Calls after Close.
	Closed error

	// Random returns a random time of 0 to n.
	Random func(n time.Duration) time.Duration
}

// Kind says what happened.
type Kind uint8

// Events and their fields.
const (
	Ask     Kind = iota // a Call waits for a connection: Call; Err if its context is done
	Cancel              // the context of a waiting Call is done: Call, Err
	Crowded             // Take said so
	Release             // a Call no longer uses a connection: Conn
	Room                // a connection may have room
	Dialled             // an attempt made a connection: Conn
	Failed              // an attempt failed: Err, Turned
	Ended               // a connection is down or was dropped: Conn, Err, Useful, Refused, Turned
	Discard             // the caller closes a connection: Conn. Ended follows.
	Tick                // Effects.Wake has come
	Close               // the Client is closed
)

// Event is an input of the machine.
type Event[C Conn] struct {
	Kind    Kind
	Call    *Call[C]
	Conn    C
	Err     error
	Useful  bool // the connection brought a reply
	Refused bool // the server refused the connection after it was made: the attempt has failed
	Turned  bool // the next attempt uses another version of the protocol
}

// Call is a Call that waits. Effects.Over says when it has Conn or Err.
type Call[C Conn] struct {
	Conn  C
	Err   error
	Again bool          // it was on a connection that was lost
	Over  chan struct{} // the driver's; it closes the channel with Effects.Over

	failures uint64 // Machine.failures when it began to wait
}

// Effects say what the driver must do after a Step.
type Effects[C Conn] struct {
	Over    []*Call[C] // they no longer wait
	Dial    bool       // begin an attempt to connect. Dialled or Failed must follow.
	Drop    []C        // give up these connections. Ended must follow for each.
	Wake    time.Time  // of the next Tick, in place of any before; later than now; zero: never
	Delayed bool       // a Call waits although a connection is up
	Failure *Failure   // to log
}

// Failure describes an attempt to connect that failed.
type Failure struct {
	InRow int // since the last connection
	Err   error
	Pause time.Duration // before the next
}

// Stats holds counts. They only grow.
type Stats struct {
	Connects     uint64 // connections made
	DialFailures uint64 // attempts that failed, but for those that have turned
	Lost         uint64 // connections that ended by themselves
	Stuck        uint64 // connections dropped after StuckTimeout
	IdleCloses   uint64 // connections dropped after IdleTimeout
	Delayed      uint64 // Calls that waited although a connection was up
}
