package simulation

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// simulate runs a simulation, and returns the broken rules and what happened.
func simulate(t *testing.T, seed uint64, b bugs) (found []string, s seen) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, seed, b)
		w.run(120)
		found, s = w.result()
	})
	return found, s
}

// Calls in both forms keep their promises, whatever comes late, is lost or is given up: each ends
// once, with the result of its execution or an error that is true, within bounded time, and
// its memory is not written afterwards (R284, R286, R289).
func TestCallsOfBothFormsKeepTheirPromises(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 100
	}
	if xdrtest.Race {
		seeds = 40
	}
	var all seen
	for seed := range seeds {
		found, s := simulate(t, seed, bugs{})
		for _, f := range found {
			t.Errorf("seed %d: %s", seed, f)
		}
		if len(found) > 0 {
			return
		}
		all.add(s)
	}
	t.Logf("%+v", all)
	for name, n := range map[string]int{
		"callers that read": all.progressed, "callers that stopped reading early": all.early, "lost connections": all.losses,
		"Calls given up": all.cancelled, "done functions that panic": all.panicked, "Calls submitted by done functions": all.nested,
		"refused Calls": all.refused, "Calls that may have run": all.mayHaveRun, "Calls not sent": all.notSent,
	} {
		if n == 0 {
			t.Errorf("no %s: the runs prove nothing about them", name)
		}
	}
}

// Each planted mistake is found, by the oracle for it.
func TestPlantedMistakesAreFound(t *testing.T) {
	for _, tt := range []struct {
		name string
		bugs bugs
		want string
	}{
		{"a done function is called twice", bugs{doneTwice: true}, "returns twice"},
		{"an error says that the Call was not sent", bugs{notSent: true}, "its error says that it was not"},
		{"a provider does not resume", bugs{deafAfterProgress: true}, "at most 1s are expected"},
		{"a done function is not called", bugs{doneLost: true}, "does not return"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(40) {
				found, _ := simulate(t, seed, tt.bugs)
				for _, f := range found {
					if strings.Contains(f, tt.want) {
						t.Logf("seed %d: %s", seed, f)
						return
					}
				}
			}
			t.Error("no seed finds it")
		})
	}
}
