package xchar

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
)

// model is two Endpoints with a queue of messages in each direction, which keep their order and may
// wait for any time, and the posted Receives of each side.
type model struct {
	rng   *rand.Rand
	sides [2]*side
	fault faultKind
	seen  map[string]int // events that a run must have had to mean anything
}

// faultKind is a fault that the model must find.
type faultKind int

const (
	none        faultKind = iota
	earlyUpdate           // a raise is announced before the old Receives are gone
	ignoreLimit           // a side sends up to the announced size despite the cut that it requested
	lostUpdate            // a UPD does not arrive
)

// side is one end of the connection.
type side struct {
	*Endpoint
	in       []packet // messages on their way to this side
	receives []uint32 // sizes of the posted Receives, the next one first
	post     uint32   // size of the next Receive
	xid      uint32
	open     map[uint32]int // changes without a final result, by request
}

// packet is a message: of the extension, or of RPC.
type packet struct {
	size uint32
	m    *Message
}

// pick returns one of the elements.
func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

var sizes = []uint32{1024, 2000, 4096, 6000, 8192, 16384}

// deciders is a Policy of random decisions.
type deciders struct{ rng *rand.Rand }

func (d deciders) decide() Decision                                { return Decision(d.rng.IntN(3)) }
func (d deciders) CutReceiveSize(from, to uint32) Decision         { return d.decide() }
func (d deciders) RaiseReceiveSize(from, to uint32) Decision       { return d.decide() }
func (d deciders) Invalidation(bool) Decision                      { return d.decide() }
func (d deciders) Backward(from, to wire.BackwardSupport) Decision { return d.decide() }

func (m *model) value() Value       { return m.valueOf(wire.ID(1 + m.rng.IntN(slots))) }
func (m *model) peerOf(n int) *side { return m.sides[1-n] }
func (m *model) count(event string, happened bool) {
	if happened {
		m.seen[event]++
	}
}

func (m *model) valueOf(id wire.ID) Value {
	switch id {
	case wire.IDReceiveBufferSize:
		return ReceiveSize(pick(m.rng, sizes))
	case wire.IDRemoteInvalidation:
		return RemoteInvalidation(m.rng.IntN(2) == 0)
	}
	return Backward(wire.BackwardSupport(m.rng.IntN(4)))
}

// newModel returns two Endpoints of random configurations, each with an INIT on its way.
func newModel(seed uint64, fault faultKind) (*model, error) {
	m := &model{rng: rand.New(rand.NewPCG(seed, 1)), fault: fault, seen: map[string]int{}}
	for n := range m.sides {
		cfg := &Config{Server: n == 1, Policy: deciders{m.rng}}
		// Messages before the INIT have up to 4096 bytes, the default of version 2.
		cfg.Local = Characteristics{pick(m.rng, sizes[2:]), m.rng.IntN(2) == 0, wire.BackwardSupport(m.rng.IntN(4))}
		if m.rng.IntN(4) == 0 {
			cfg.Fixed = []wire.ID{wire.ID(1 + m.rng.IntN(slots))}
		}
		e, err := New(cfg)
		if err != nil {
			return nil, err
		}
		s := &side{Endpoint: e, post: cfg.Local.ReceiveSize, open: map[uint32]int{}, xid: uint32(n) << 16}
		for range 1 + m.rng.IntN(6) {
			s.receives = append(s.receives, s.post)
		}
		m.sides[n] = s
	}
	for n, s := range m.sides {
		if err := m.carryOut(n, Effects{Send: []Message{s.Init(s.next())}}); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (s *side) next() uint32 { s.xid++; return s.xid }

// carryOut does what a connection does with the effects on side n.
func (m *model) carryOut(n int, out Effects) error {
	s := m.sides[n]
	if out.Fault != nil {
		return fmt.Errorf("side %d: %w", n, out.Fault)
	}
	for _, msg := range out.Send {
		if m.fault == lostUpdate && msg.Header.Op == wire.OpUpd {
			continue
		}
		size := uint32(20 + msg.Header.XDRSize())
		if limit := s.SendLimit(DefaultReceiveSize); size > limit {
			return fmt.Errorf("side %d: operation %d has %d bytes, the limit is %d", n, msg.Header.Op, size, limit)
		}
		m.peerOf(n).in = append(m.peerOf(n).in, packet{size, &msg})
	}
	if out.Post != 0 {
		s.post = out.Post
	}
	for _, o := range out.Outcomes {
		m.seen[o.Result.String()]++
		if o.Result == Pending {
			continue
		}
		if s.open[o.XID]--; s.open[o.XID] == 0 {
			delete(s.open, o.XID)
		} else if s.open[o.XID] < 0 {
			return fmt.Errorf("side %d: request %d has more results than changes", n, o.XID)
		}
	}
	return nil
}

// deliver hands the next message to side n. It must fit the Receive that it consumes.
func (m *model) deliver(n int) error {
	s := m.sides[n]
	if len(s.in) == 0 {
		return nil
	}
	p := s.in[0]
	s.in = s.in[1:]
	if p.size > s.receives[0] {
		return fmt.Errorf("side %d: a message of %d bytes meets a Receive of %d: %w", n, p.size, s.receives[0], errOverflow)
	}
	m.count("full Receive", p.size == s.receives[0])
	s.receives = s.receives[1:]
	if p.m != nil {
		before := s.Own()
		if err := m.carryOut(n, s.Receive(p.m.XID, &p.m.Header)); err != nil {
			return err
		}
		m.count("cut", s.Own().ReceiveSize < before.ReceiveSize)
	}
	s.receives = append(s.receives, s.post)
	smallest := slices.Min(s.receives)
	if m.fault == earlyUpdate {
		smallest = math.MaxUint32
	}
	out := s.ReceivesReplaced(smallest)
	m.count("raise", len(out.Send) > 0)
	return m.carryOut(n, out)
}

var (
	errOverflow = errors.New("the connection would be lost")
	errViews    = errors.New("the views differ")
)

// step does one random thing at side n.
func (m *model) step(n int) error {
	s := m.sides[n]
	switch m.rng.IntN(12) {
	case 0:
		values := []Value{m.value()}
		if v := m.value(); v.ID != values[0].ID {
			values = append(values, v)
		}
		xid := s.next()
		msg, err := s.Request(xid, values...)
		switch {
		case errors.Is(err, ErrFixed), errors.Is(err, ErrTooMany):
			m.seen["refused request"]++
			return nil
		case err != nil:
			return err
		}
		s.open[xid] = len(values)
		return m.carryOut(n, Effects{Send: []Message{msg}})
	case 1:
		out, err := s.Set(m.value())
		if err != nil {
			m.seen["refused change"]++
			return nil
		}
		return m.carryOut(n, out)
	case 2:
		if out, err := s.Settle(wire.ID(1+m.rng.IntN(slots)), m.rng.IntN(2) == 0); err == nil {
			m.seen["decision"]++
			return m.carryOut(n, out)
		}
	case 3, 4, 5:
		size := s.SendLimit(DefaultReceiveSize)
		if m.fault == ignoreLimit && s.peer[receiveSize].stated {
			size = s.Peer().ReceiveSize
		}
		if m.rng.IntN(2) == 0 {
			size = 1 + m.rng.Uint32N(size)
		}
		m.peerOf(n).in = append(m.peerOf(n).in, packet{size: size})
	default:
		return m.deliver(n)
	}
	return nil
}

// run makes random steps, delivers all messages, and compares the views.
func (m *model) run(steps int) error {
	for range steps {
		if err := m.step(m.rng.IntN(2)); err != nil {
			return err
		}
	}
	for len(m.sides[0].in)+len(m.sides[1].in) > 0 {
		for n := range m.sides {
			if err := m.deliver(n); err != nil {
				return err
			}
		}
	}
	for n, s := range m.sides {
		if err := agree(s, m.peerOf(n)); err != nil {
			return fmt.Errorf("side %d, its peer: %w", n, err)
		}
	}
	return nil
}

// agree compares what s knows of its peer with what the peer knows of itself, when no message is on
// its way.
func agree(s, p *side) error {
	if diff := cmp.Diff(p.Own(), s.Peer()); diff != "" {
		return fmt.Errorf("%w (-own +peer's):\n%s", errViews, diff)
	}
	pending := 0
	for id := wire.ID(1); id <= slots; id++ {
		if own, view := p.OwnState(id), s.PeerState(id); own != view {
			return fmt.Errorf("%w: characteristic %d is %v, the peer's view is %v", errViews, id, own, view)
		}
		if s.PeerState(id) == StatePending {
			pending++
		}
	}
	open := 0
	for _, n := range s.open {
		open += n
	}
	if open != pending {
		return fmt.Errorf("%w: %d requested changes without a final result, %d pending", errViews, open, pending)
	}
	limit := s.SendLimit(DefaultReceiveSize)
	if smallest := slices.Min(p.receives); limit > smallest {
		return fmt.Errorf("the limit is %d, the smallest Receive %d: %w", limit, smallest, errOverflow)
	}
	if s.PeerState(wire.IDReceiveBufferSize) != StatePending && limit != p.Own().ReceiveSize {
		return fmt.Errorf("the limit is %d with nothing pending, expected %d", limit, p.Own().ReceiveSize)
	}
	if st := s.Stats(); st != (Stats{}) {
		return fmt.Errorf("messages of the peer were not applied: %+v", st)
	}
	return nil
}

// TestTwoEndpoints proves R237, R238, R247, R249 to R251, T113 and T114 for random runs: no message
// meets a Receive that is too small, and both views agree when all messages have arrived. R253:
// both sides handle all four operations.
func TestTwoEndpoints(t *testing.T) {
	runs := 4000
	if testing.Short() {
		runs = 1000
	}
	seen := map[string]int{}
	for seed := range uint64(runs) {
		m, err := newModel(seed, none)
		if err == nil {
			err = m.run(1 + int(seed%300))
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for event, n := range m.seen {
			seen[event] += n
		}
	}
	for _, event := range []string{
		"done", "rejected", "pending", "cut", "raise", "full Receive", "decision", "refused change", "refused request",
	} {
		if seen[event] < runs/100 {
			t.Errorf("event %q happened %d times in %d runs: the runs prove little", event, seen[event], runs)
		}
	}
}

// TestModelFindsFaults proves that the model finds each of its faults.
func TestModelFindsFaults(t *testing.T) {
	for fault, want := range map[faultKind]error{earlyUpdate: errOverflow, ignoreLimit: errOverflow, lostUpdate: errViews} {
		found := false
		for seed := uint64(0); seed < 1000 && !found; seed++ {
			m, err := newModel(seed, fault)
			if err == nil {
				err = m.run(200)
			}
			found = errors.Is(err, want)
		}
		if !found {
			t.Errorf("fault %d is not found in 1000 runs", fault)
		}
	}
}
