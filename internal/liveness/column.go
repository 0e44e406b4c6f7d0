package liveness

import (
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/carriers"
)

// Column is a carrier under test.
type Column struct {
	// Carrier opens the carrier with limits.
	Carrier func(l carriers.Limits) carriers.Carrier

	// Apart opens the carrier between two hosts, until the end of the test. cut drops all further
	// packets between them, and neither end is notified. If nil, carriers.Server.Vanish does that.
	Apart func(t *testing.T, l carriers.Limits) (c carriers.Carrier, p carriers.Place, cut func())

	// Stream says that the carrier is over TCP, so that it passes through a netfault.Gate.
	// Otherwise peers that misbehave are made by carriers.Server.Raw.
	Stream bool

	// Datagrams says that the carrier is over UDP, which has no connections.
	Datagrams bool

	// Deaf says that the clients of Carrier do not read long replies, except for the first client.
	Deaf bool

	// Cost is the limit for a silent connection.
	Cost Cost

	// Without has the rows that the carrier cannot have, with the reason.
	Without map[string]string

	// Around runs a row, for example in a bubble of package synctest. If nil, it runs as it is, at
	// the same time as others.
	Around func(t *testing.T, row func(t *testing.T))
}

// Cost has the heap and stacks, in bytes, and the goroutines of a silent connection. Where the
// carrier is not over TCP, the client's end counts, too.
type Cost struct{ Bytes, Goroutines float64 }

// soon is each limit of the server, in rows that wait for it. A keepalive probe of TCP has whole
// seconds, and a machine may pause for one.
const soon = 2 * time.Second

// rows are the kinds of peers. A row that is not parallel measures memory.
var rows = []struct {
	name     string
	parallel bool
	run      func(c *Column, t *testing.T)
}{
	{"silent", false, (*Column).silent},
	{"vanishes", true, (*Column).vanishes},
	{"half open", true, (*Column).halfOpen},
	{"greedy", true, (*Column).greedy},
	{"never reads", true, (*Column).neverReads},
	{"reads slowly", true, (*Column).readsSlowly},
	{"stops within a message", true, (*Column).stopsWithin},
	{"garbage", true, (*Column).garbage},
}

// Run runs all rows.
func Run(t *testing.T, c Column) {
	unused := make(map[string]bool)
	for name := range c.Without {
		unused[name] = true
	}
	for _, row := range rows {
		delete(unused, row.name)
		t.Run(row.name, func(t *testing.T) {
			if why := c.Without[row.name]; why != "" {
				t.Skip(why)
			}
			if c.Around != nil && row.name != "vanishes" { // whose cases run in other bubbles
				c.Around(t, func(t *testing.T) { row.run(&c, t) })
				return
			}
			if row.parallel && c.Around == nil {
				t.Parallel()
			}
			row.run(&c, t)
		})
	}
	for name := range unused {
		t.Errorf("there is no row %q", name)
	}
}
