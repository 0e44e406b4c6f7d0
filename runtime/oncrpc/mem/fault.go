package mem

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Kind is a kind of fault.
type Kind int

// The kinds of faults. A connection that is lost ends at the client at once, and at the server
// after Fault.Delay: a client may call again before the server knows of the loss.
const (
	None      Kind = iota // the record arrives as it was sent
	Lose                  // the connection is lost before the record arrives
	LoseAfter             // the record arrives, then the connection is lost
	Cut                   // Fault.Bytes of the record arrive, then the connection is lost
	Stall                 // nothing is read for Fault.Delay, then the record arrives
	Hold                  // the record arrives after Fault.Delay; later ones overtake it
	Repeat                // the record arrives twice
	Split                 // the record arrives in several fragments, the first one empty
	Kinds                 // number of kinds
)

var kindNames = [Kinds]string{"none", "lose", "lose-after", "cut", "stall", "hold", "repeat", "split"}

// String returns the name of a kind.
func (k Kind) String() string {
	if k < 0 || k >= Kinds {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// Fault is a fault of one record.
type Fault struct {
	Kind Kind

	// Delay is the time of Stall and Hold, and the time by which the server notices later than the
	// client that the connection is lost.
	Delay time.Duration

	// Bytes is the number of bytes that arrive with Cut. The mark of the record, 4 bytes, counts.
	Bytes int
}

// Record is an RPC message on its way.
type Record struct {
	Conn    int    // number of the connection, from 0 in the order of Dial
	Reply   bool   // it goes from the server to the client, which may also be a reverse Call
	Number  int    // of the record in its direction of the connection, from 0
	Message []byte // without marks; valid until the function that got it returns
}

// maxDelay is the longest Delay of Random: as long as a network may keep a segment (the MSL of RFC
// 9293 §3.4.2). It is longer than all time-outs that concern Calls and connections in use, and
// shorter than replycache.Config.Age: a Call that comes later than that is executed again.
const maxDelay = 2 * time.Minute

// Random returns a NetworkConfig.Fault. With a probability of rate, a record has a fault, of each
// kind as often as of any other, with a Delay of up to two minutes, half of them below a second.
// What happens to a record depends on the seed, and on the record's connection, direction and
// number, alone: a test that makes one Call after the other has the same faults each time.
func Random(seed uint64, rate float64) func(Record) Fault {
	return func(r Record) Fault {
		place := uint64(r.Conn)<<32 | uint64(uint32(r.Number))<<1
		if r.Reply {
			place |= 1
		}
		rng := rand.New(rand.NewPCG(seed, place))
		if rng.Float64() >= rate {
			return Fault{}
		}
		return Fault{
			Kind: None + 1 + Kind(rng.IntN(int(Kinds-None-1))), Delay: delay(rng),
			Bytes: rng.IntN(markSize + len(r.Message)),
		}
	}
}

// delay returns a delay of up to maxDelay, half of them below a second.
func delay(rng *rand.Rand) time.Duration {
	if rng.IntN(2) == 0 {
		return time.Duration(rng.Int64N(int64(time.Second)))
	}
	return time.Duration(rng.Int64N(int64(maxDelay)))
}
