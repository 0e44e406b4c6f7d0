package sim

import (
	"strings"
	"testing"
)

// Each bug is found within a bounded number of seeds, by the oracle for it. If no seed finds one,
// the simulation no longer does what leads to it.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bugs  Bugs
		seeds uint64
		want  string
	}{
		{"a provider completes requests after a flushed one", Bugs{Unflushed: true}, 100, "out of order"},
		{"an engine releases a handler's memory before the reply is sent", Bugs{ReleaseEarly: true}, 20, "never written"},
		{"a reply cache waits less than the server takes to notice a loss", Bugs{ShortGrace: true}, 60, "executed 2 times"},
		{"a reply cache knows a client by its port", Bugs{ByPort: true}, 40, "executed 2 times"},
		{"a reply cache passes procedure 0 by its number", Bugs{ZeroIsNull: true}, 60, "executed 2 times"},
		{"a client makes a refused Call again", Bugs{Stubborn: true}, 20, "was refused 2 times"},
		{"a client does not wait through the pause after a loss", Bugs{ForgetLoss: true}, 60, "is not made again after a loss"},
		{"a provider does not notice that its peer has vanished", Bugs{Deaf: true}, 60, "is up when the client has closed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for s := range tt.seeds {
				for _, f := range Run(t, Config{Seed: s, RPCs: 200, Bugs: tt.bugs}).Failures {
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
