package engine

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// newControl returns the control of a server, whose Reserve is reserve.
func newControl(reserve func(n int) bool) *control {
	e := New(Config{
		Role: Responder, Versions: []protocol.Version{v2.New(v2.Config{Own: v2.DefaultProperties()})}, Serves: 2, SendWRs: 8,
		Send: make([]Buffer, 1), Recv: make([]Buffer, 4), Reserve: reserve,
	})
	return &e.control
}

// set is a message with a property of n bytes that the version does not know.
func set(n int, more bool) *header.Message {
	return &header.Message{Kind: header.KindProps, More: more, Props: []header.Property{{ID: 5000, Data: make([]byte, n)}}}
}

// T106, R310: a set without an end holds at most the memory reserved for it: the largest set and
// one more message, even after the set is too long. When it ends, all is given back, it is refused,
// and the next set is judged by itself.
func TestEndlessSet(t *testing.T) {
	for _, size := range []int{0, 1, 100, 3000} {
		reserved := 0
		ct := newControl(func(n int) bool { reserved += n; return true })
		const cost = 32 // bytes of a header.Property
		for range 2*maxProperties/(propertyCost+size) + 1 {
			ct.learn(set(size, true))
			// The allocator rounds up.
			if held := cap(ct.data) + cost*cap(ct.learning); held > reserved+reserved/8 {
				t.Fatalf("values of %d bytes: the set holds %d bytes, of which %d are reserved", size, held, reserved)
			}
			if most := 2 * (maxProperties + propertyCost + size); reserved > most {
				t.Fatalf("values of %d bytes: %d bytes are reserved, at most %d are to be", size, reserved, most)
			}
		}
		ct.learn(set(size, false))
		if f := ct.eff.Fault; f == nil || f.Code != header.FaultLong || ct.stats.ErrorMessages != 1 || ct.eff.Props != nil {
			t.Errorf("values of %d bytes: fault %v, %d ERRORs", size, f, ct.stats.ErrorMessages)
		}
		if reserved != 0 || ct.data != nil || ct.learning != nil {
			t.Errorf("values of %d bytes: %d bytes are reserved at the end", size, reserved)
		}
		ct.learn(set(10, true))
		ct.learn(set(10, false))
		if len(ct.eff.Props) != 2 || ct.stats.FaultyMessages != 1 || reserved != 0 {
			t.Errorf("values of %d bytes: the next set has %d properties, %d bytes are reserved", size, len(ct.eff.Props), reserved)
		}
	}
}

// The largest set is taken, also in parts, and one of a byte more is not.
func TestLargestSet(t *testing.T) {
	for _, more := range []int{0, 1} {
		for _, parts := range []int{1, 2} {
			ct := newControl(func(int) bool { return true })
			left := maxProperties + more
			for i := range parts {
				n := left
				if i < parts-1 {
					n = left / 2
				}
				left -= n
				ct.learn(set(n-propertyCost, i < parts-1))
			}
			if taken := ct.eff.Props != nil; taken != (more == 0) {
				t.Errorf("a set of %d bytes more than allowed, in %d parts: taken %v", more, parts, taken)
			}
			if n := len(ct.eff.Props); more == 0 && n != parts {
				t.Errorf("a set in %d parts has %d properties", parts, n)
			}
		}
	}
}

// A set for which there is no memory, from any of its messages on, is passed over without asking
// again, and refused when it ends. The next set is taken.
func TestSetWithoutMemory(t *testing.T) {
	for fails := range 3 {
		reserved, asks := 0, 0
		ct := newControl(func(n int) bool {
			if n > 0 {
				if asks++; asks == fails+1 {
					return false
				}
			}
			reserved += n
			return true
		})
		for range 4 {
			ct.learn(set(1000, true))
		}
		if asks != fails+1 || cap(ct.data) != 0 || cap(ct.learning) != 0 {
			t.Errorf("memory fails at %d: asked %d times, %d bytes are held", fails, asks, cap(ct.data))
		}
		ct.learn(set(1000, false))
		if ct.eff.Fault == nil || ct.eff.Props != nil || reserved != 0 {
			t.Errorf("memory fails at %d: fault %v, %d bytes are reserved at the end", fails, ct.eff.Fault, reserved)
		}
		ct.learn(set(1000, true))
		ct.learn(set(1000, false))
		if len(ct.eff.Props) != 2 || reserved != 0 {
			t.Errorf("memory fails at %d: the next set has %d properties", fails, len(ct.eff.Props))
		}
	}
}
