package driver

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Engine is the state machine that a Driver runs: an *engine.Engine.
type Engine interface {
	Step(now time.Duration, events []engine.Event) *engine.Effects
	ReadStats(s *engine.Stats)
	Delivered() uint64
	Credits() int
}

// Owner is the connection that a Driver works for. The runner calls Fault, Ending and Effects in
// this order, each only if the step has such an effect, except that Effects and then Serve are
// called for every step. The runner holds no lock during a call, so each method may post events.
type Owner interface {
	// Fault is called for Effects.Fault.
	Fault(fault error)

	// Ending is called for Effects.Fail, before the queue pair is disconnected. It returns the
	// reason to report to the peer.
	Ending(why error) verbs.DisconnectReason

	// Effects carries out the effects of a step from Fail to Return, in the order of the fields,
	// Fault excepted. If Fail is set, the queue pair is disconnected already, and no memory is
	// accessed through it any more.
	Effects(f *engine.Effects)

	// Serve carries out the others, from Assemble to WantBuffers, in their order. If a handler
	// exits the goroutine, Serve is called again on another one, for those that are left.
	Serve(f *engine.Effects)

	// PeerFaults is called when the peer's faults have increased, with the increase. It may be
	// called while another goroutine runs the engine.
	PeerFaults(more Faults)

	// CreditsChanged is called by the runner after Effects, if Driver.Credits returns another
	// number since this step.
	CreditsChanged()

	// Due reports whether there are functions of the upper layer to run. It is called after each
	// step, and an event follows each change to true outside of Effects.
	Due() bool

	// Polling reports whether a caller is in verbs.Progresser.Progress.
	Polling() bool

	// Run runs them. The runner calls it between steps, if it is a goroutine of the Driver, or the
	// one of the provider that handles what the peer sends (DeviceAttributes.ReaderNotifies).
	// If a function exits the goroutine, Run is called again on another one, for the others. Events
	// that they post are served together.
	Run()
}

// Faults counts the faults of the peer, as engine.Stats does.
type Faults struct {
	DroppedMessages, CallsOverCredit, FaultyMessages, ZeroGrants, OverGrants uint64
}

// update sets f to the counts in s. It returns the increase, or nil if no count has changed.
func (f *Faults) update(s *engine.Stats) *Faults {
	if s.DroppedMessages == f.DroppedMessages && s.CallsOverCredit == f.CallsOverCredit &&
		s.FaultyMessages == f.FaultyMessages && s.ZeroGrants == f.ZeroGrants && s.OverGrants == f.OverGrants {
		return nil
	}
	before := *f
	*f = Faults{s.DroppedMessages, s.CallsOverCredit, s.FaultyMessages, s.ZeroGrants, s.OverGrants}
	return &Faults{
		DroppedMessages: f.DroppedMessages - before.DroppedMessages,
		CallsOverCredit: f.CallsOverCredit - before.CallsOverCredit,
		FaultyMessages:  f.FaultyMessages - before.FaultyMessages,
		ZeroGrants:      f.ZeroGrants - before.ZeroGrants,
		OverGrants:      f.OverGrants - before.OverGrants,
	}
}
