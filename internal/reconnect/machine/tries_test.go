package machine_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
)

// A Call is made again while its connections are lost: as often as it may be sent, and without a
// limit while it was not sent. What another connection cannot change fails at once.
func TestCallIsMadeAgainAfterALoss(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	var (
		lost   = machine.TryFailure{MayHaveRun: true}
		unsent = machine.TryFailure{}
		turn   = machine.TryFailure{Up: true, Lasting: true, Turns: yes}
	)
	for _, tt := range []struct {
		name   string
		losses int
		tries  []machine.TryFailure // after each but the last the Call is made again
		again  bool                 // after the last
		ran    bool
	}{
		{"lost as often as it may be", 2, []machine.TryFailure{lost, lost}, true, true},
		{"lost once more", 2, []machine.TryFailure{lost, lost, lost}, false, true},
		{"no loss is allowed", 0, []machine.TryFailure{lost}, false, true},
		{"never sent", 0, []machine.TryFailure{unsent, unsent, unsent}, true, false},
		{"sent, then not", 1, []machine.TryFailure{lost, unsent}, true, true},
		{"the connection is up", 2, []machine.TryFailure{{MayHaveRun: true, Up: true}}, false, true},
		{"another connection changes nothing", 2, []machine.TryFailure{lost, {Lasting: true}}, false, true},
		{"another version may be accepted", 0, []machine.TryFailure{turn}, true, false},
		{"another version was refused, too", 0, []machine.TryFailure{turn, turn}, false, false},
		{"it turns and is lost", 1, []machine.TryFailure{turn, lost}, true, true},
		{"a peer without another version", 2, []machine.TryFailure{{Up: true, Lasting: true, Turns: no}}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tries := machine.Tries{Losses: tt.losses}
			for i, f := range tt.tries {
				want := i < len(tt.tries)-1 || tt.again
				if got := tries.Failed(f); got != want {
					t.Fatalf("after try %d the Call is made again %v, want %v", i, got, want)
				}
			}
			if tries.MayHaveRun() != tt.ran {
				t.Errorf("it may have run %v, want %v", tries.MayHaveRun(), tt.ran)
			}
		})
	}
}
