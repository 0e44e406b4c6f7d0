package sim

import (
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// planted is a bug, and what finds it.
type planted struct {
	name  string
	bugs  Bugs
	seeds uint64      // within so many
	swarm func(*draw) // with these choices; nil: with any
	want  string      // by this oracle
}

// Each bug is found within a bounded number of seeds, by the oracle for it. If no seed finds one,
// the simulation no longer does what leads to it.
func TestPlantedBugsAreFound(t *testing.T) {
	if xdrtest.Race {
		t.Skip("TestSeeds starts the same goroutines")
	}
	cached := func(d *draw) { d.cache = true }
	late := func(d *draw) { d.cache, d.rate[Vanish], d.rate[Drop] = true, 0.002, 0 }
	cut := func(d *draw) { d.rate[Break], d.rate[CloseClient], d.rate[CloseServer] = 0.02, 0, 0 }
	often := func(d *draw) { d.rate[Extend] = 0.05 }
	busy := func(d *draw) {
		d.limited, d.rate[Slow], d.rules.connections, d.credits[0], d.limits[1] = true, 0.9, 3, 8, 8
	}
	over := func(d *draw) { d.rate[Over] = 0.2 }
	full := func(d *draw) { d.places, d.rules.connections, d.rate[Slow] = 1, 3, 0.2 }
	crowd := func(d *draw) {
		d.handlers, d.rules.connections, d.rate[Slow], d.credits[0], d.limits[1] = 1, 3, 0.9, 8, 8
	}
	cancels := func(d *draw) { d.rate[Cancel], d.rate[Slow], d.credits[0], d.limits[1] = 0.3, 0.3, 8, 8 }
	for _, tt := range []planted{
		{"a provider completes requests after a flushed one", Bugs{Unflushed: true}, 40, cut, "out of order"},
		{"an engine releases a handler's memory before the reply is sent", Bugs{ReleaseEarly: true}, 20, nil, "never written"},
		{"a reply cache waits less than the server takes to notice a loss", Bugs{ShortGrace: true}, 20, late, "executed 2 times"},
		{"a reply cache knows a client by its port", Bugs{ByPort: true}, 20, cached, "executed 2 times"},
		{"a reply cache passes procedure 0 by its number", Bugs{ZeroIsNull: true}, 20, cached, "executed 2 times"},
		{"a client makes a refused Call again", Bugs{Stubborn: true}, 20, nil, "was refused 2 times"},
		{"a client does not wait through the pause after a loss", Bugs{ForgetLoss: true}, 60, nil, "is not made again after a loss"},
		{"a server starts handlers without memory for their replies", Bugs{NoTickets: true}, 20, busy, "its limit is"},
		{"an end posts smaller Receives before its peer keeps to them", Bugs{CutEarly: true}, 40, often, "to a Receive of"},
		{"a client gives back memory whose key is valid", Bugs{KeepKey: true}, 40, nil, "is live at the end"},
		{"both ends take one segment less than they advertise", Bugs{OneLess: true}, 20, nil, "peer answered"},
		{"a Call over a limit costs the connection", Bugs{CloseOver: true}, 20, over, "closes for one Call: sim: a Call over a limit"},
		{"a server closes a connection in use to make room", Bugs{Displace: true}, 20, full, "to make room"},
		{"keep-alives use up the credits of a peer", Bugs{Mute: true}, 80, nil, "has no answer after"},
		{"Requests of all connections wait in one queue", Bugs{OneQueue: true}, 20, crowd, "gets place after place"},
		{"a CANCEL cancels Calls that it does not name", Bugs{CancelAll: true}, 20, cancels, "whose caller waits"},
		{"a Call given up during a CANCEL is forgotten", Bugs{CancelOnce: true}, 40, cancels, "are given up"},
		{"a provider does not notice that its peer has vanished", Bugs{Deaf: true}, 20, late, "is up when the client has closed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for s := range tt.seeds {
				for _, f := range Run(t, Config{Seed: s, RPCs: 200, Bugs: tt.bugs, Swarm: tt.swarm}).Failures {
					if strings.Contains(f, tt.want) {
						t.Logf("seed %d: %s", s, f)
						return
					}
				}
			}
			t.Errorf("%d seeds have passed", tt.seeds)
		})
	}
}
