package carriers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/resend"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Order says which of the addresses that are up gets a Call.
type Order int

const (
	// LeastInFlight gives a Call to the address with the fewest Calls of this Client in progress,
	// and to each in turn where several have as few.
	LeastInFlight Order = iota

	// InOrder gives a Call to the first address of the list that is up. The others are for the time
	// while it is not.
	InOrder
)

// Address is a way to reach a service: a server, or one of a server's carriers.
type Address struct {
	// Name is the name in errors, Events and Stats, such as "tcp 192.0.2.1:2049".
	Name string

	// Carrier makes the Calls, connects when it has one, and replaces lost connections, as a
	// tcp.Client or rdmaio.Client does. It should fail a Call at once if it cannot connect, since
	// the Client then uses another address and tries again later: TCPAddresses and RDMAAddresses
	// configure it so. It belongs to the Client, which closes it.
	Carrier Carrier
}

// ClientConfig configures NewClient. A nil *ClientConfig has the default in every field.
type ClientConfig struct {
	// Order says which address gets a Call.
	Order Order

	// Retransmits is the number of times that a Call with Call.Idempotent is sent again on another
	// address after it may have been executed. If zero, the default is 4. If negative, it is never
	// sent again. Other Calls are not sent again once they may have been executed.
	Retransmits int

	// MinBackoff is the first pause before a lost address is tried again. If zero, the default is
	// 100 ms. If negative, there are no pauses. The pause doubles each time up to MaxBackoff, whose
	// default is 30 s. Each is shortened by up to half at random.
	MinBackoff, MaxBackoff time.Duration

	// ProbeTimeout is the longest time that a try of an address may take: to connect, and to call
	// the null procedure. If zero, the default is 5 s. If negative, there is no limit.
	ProbeTimeout time.Duration

	// Patience is the time after which a Call that waits for the first connection tries the next
	// address, too, if Order is InOrder. If zero, the default is 1 s. It is less for a Call with a
	// deadline: an even part of its time for each address that is not tried yet.
	Patience time.Duration

	// MaxWait is the longest time that a Call waits while no address is up. If zero, only its
	// context limits the wait. If negative, the Call fails at once. Before any address was up, a
	// Call fails when all have been tried, since they may be wrong, unless WaitForServer is set.
	MaxWait time.Duration

	// WaitForServer makes Calls wait for the first address as they do for later ones, for example
	// when client and servers start together.
	WaitForServer bool

	// Probe finds out whether an address is up. If nil, the default calls the null procedure of the
	// last Call's program, without a credential. Any reply means that the address is up.
	Probe func(ctx context.Context, c oncrpc.Carrier) error

	// Events is called when an address goes up or down. It must not block. If nil, there are no
	// events.
	Events func(Event)

	// Logger receives the same as Events. If nil, nothing is logged.
	Logger *slog.Logger
}

// Event says that an address has gone up or down.
type Event struct {
	Address string
	Up      bool
	Reason  error         // why it is down
	Pause   time.Duration // before it is tried again
}

// String returns the address, its state and the reason.
func (e Event) String() string {
	if e.Up {
		return e.Address + " is up"
	}
	return fmt.Sprintf("%s is down, the next try is in %v: %v", e.Address, e.Pause, e.Reason)
}

// settled returns the configuration with its defaults. Times that are off are zero.
func (cfg *ClientConfig) settled() (ClientConfig, error) {
	var c ClientConfig
	if cfg != nil {
		c = *cfg
	}
	duration := func(f *time.Duration, def time.Duration) {
		if *f == 0 {
			*f = def
		}
		*f = max(*f, 0)
	}
	duration(&c.MinBackoff, 100*time.Millisecond)
	duration(&c.MaxBackoff, 30*time.Second)
	duration(&c.ProbeTimeout, 5*time.Second)
	duration(&c.Patience, time.Second)
	if c.Retransmits == 0 {
		c.Retransmits = 4
	}
	c.Retransmits = max(c.Retransmits, 0)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case c.Order != LeastInFlight && c.Order != InOrder:
		return c, fmt.Errorf("carriers: ClientConfig.Order is %d, must be LeastInFlight or InOrder", int(c.Order))
	case c.MaxBackoff < c.MinBackoff:
		return c, fmt.Errorf("carriers: ClientConfig.MaxBackoff is %v, less than MinBackoff, %v", c.MaxBackoff, c.MinBackoff)
	}
	return c, nil
}

// Client makes Calls to a service that has several addresses. All methods are safe for concurrent
// use. Each address has these states:
//
//	          a Call waits             a reply
//	untried ----------------> trying ---------> up <------------------+
//	                            |               |                     | a reply to a probe
//	                            | failed        | a Call was lost     |
//	                            v               v                     |
//	                            down <----------+---- pause, probe ---+
//
// A Call gets an address that is up. If it fails there before it can have been executed, or has
// Call.Idempotent, the Client makes it on another address, with the same XID. Otherwise it fails,
// and CallError.MayHaveRun is set. What the Carrier of an address sends again to that address is
// its own matter (tcp.ClientConfig.Retransmits). A lost address is tried again in the background,
// also while there are no Calls. If the deadline of a Call passes that was sent, the Client probes
// its address, which stays up until the probe fails.
type Client struct {
	src     *source
	xids    *oncrpc.XIDs
	retrier *resend.Retrier[lease]
}

var _ oncrpc.Submitter = (*Client)(nil)

// NewClient returns a Client for a list of addresses. It does not connect before the first Call.
// cfg may be nil. The caller must Close the Client. If NewClient fails, the Carriers are not
// closed.
func NewClient(addrs []Address, cfg *ClientConfig) (*Client, error) {
	set, err := cfg.settled()
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, errors.New("carriers: a Client needs an Address")
	}
	for i, a := range addrs {
		if a.Carrier == nil {
			return nil, fmt.Errorf("carriers: Address %d (%q) has no Carrier", i, a.Name)
		}
	}
	c := &Client{xids: new(oncrpc.XIDs)}
	c.xids.Seed()
	c.src = newSource(set, addrs, c.xids)
	c.retrier = resend.New(resend.Config[lease]{
		Source: c.src, Losses: set.Retransmits, Most: set.Retransmits + 2*len(addrs), Lasting: final, Tried: c.src.tried,
	})
	return c, nil
}

// XID implements oncrpc.Carrier.
func (c *Client) XID() uint32 { return c.xids.Next() }

// Call implements oncrpc.Carrier. If no address is up in time, the error has a *DownError with the
// reason of each address, and otherwise an *AddressError.
func (c *Client) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	c.src.noteProgram(call)
	return c.retrier.Call(ctx, call)
}

// Submit implements oncrpc.Submitter. The rules of Call apply. A Call that waits for an address, or
// is made on a further one, has a goroutine, on which done then runs.
func (c *Client) Submit(ctx context.Context, call *oncrpc.Call, done func(*oncrpc.Reply, error)) error {
	c.src.noteProgram(call)
	return c.retrier.Submit(ctx, call, done)
}

// Connect waits until an address is up. It returns a *DownError when a Call would.
func (c *Client) Connect(ctx context.Context) error {
	l, err := c.src.Acquire(ctx, false)
	if err == nil {
		c.src.returned(l)
	}
	return err
}

// ClientStats describes a Client.
type ClientStats struct {
	Addresses       []AddressStats // in the order of the list
	Retransmissions uint64         // Calls sent again on another address after they may have run
}

// AddressStats describes an address of a Client.
type AddressStats struct {
	Name     string
	Up       bool
	Reason   error  // why it is down; nil while it is up, and before it was tried
	InFlight int    // Calls in progress
	Calls    uint64 // Calls that it got, probes not included
	Losses   uint64 // times that it went down
}

// Stats returns the state and the counts.
func (c *Client) Stats() ClientStats {
	return ClientStats{Addresses: c.src.stats(), Retransmissions: c.retrier.Again()}
}

// String returns the addresses with their states, for logs: "rdma 192.0.2.1:20049 is down:
// carriers: no RDMA device; tcp 192.0.2.1:20049 is up".
func (c *Client) String() string {
	var text []string
	for _, a := range c.src.stats() {
		switch {
		case a.Up:
			text = append(text, a.Name+" is up")
		case a.Reason != nil:
			text = append(text, fmt.Sprintf("%s is down: %v", a.Name, a.Reason))
		default:
			text = append(text, a.Name+" has not answered yet")
		}
	}
	return strings.Join(text, "; ")
}

// Close closes the Carriers of all addresses, and fails all Calls. The rules of the Carriers' Close
// apply: tcp.Client.Close waits for done functions, and for handlers of reverse Calls. Further
// calls return the same.
func (c *Client) Close() error {
	err := c.src.close()
	c.retrier.Wait()
	return err
}
