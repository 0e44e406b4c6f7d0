package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/codec/envelope"
	"github.com/rpcrdma/rpcrdma/bench/codec/nfs4"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The memory that hostile input takes with the largest types and the default limits. The budget is
// 64 bytes for each byte of input, or the type's amplification, plus 4096. Lists grow by doubling,
// so their earlier memory counts again. Opaque data is copied.
const (
	budgetFactor = 64
	budgetBase   = 4096
	garbage      = 2
)

type decoded interface {
	xdr.Value
	CheckXDR([]byte) (int, error)
	UnmarshalBinary([]byte) error
}

func wordsOf(v ...uint32) []byte {
	var b []byte
	for _, w := range v {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// repeated is head, then unit n times, then tail.
func repeated(head, unit []byte, n int, tail []byte) []byte {
	b := append([]byte(nil), head...)
	for range n {
		b = append(b, unit...)
	}
	return append(b, tail...)
}

// TestHostileMemory counts all bytes allocated while hostile input is decoded
// into a fresh value.
func TestHostileMemory(t *testing.T) {
	const n = 20000
	getfh, entry := wordsOf(10), wordsOf(1, 0, 1, 0, 0, 0)
	readdir := func(tail []byte, n int) []byte { // status, verifier, entries
		return repeated(wordsOf(0, 0, 0), entry, n, tail)
	}
	compound := func() decoded { return new(nfs4.Compound4Args) }
	for _, c := range []struct {
		name string
		new  func() decoded
		in   []byte
		amp  int // the type's constant
		want error
	}{
		{"operations of four bytes each", compound, repeated(wordsOf(0, 0, n), getfh, n, nil), nfs4.Compound4ArgsAmplification, nil},
		{"operations within the budget", compound, repeated(wordsOf(0, 0, 50), getfh, 50, nil), nfs4.Compound4ArgsAmplification, nil},
		{"2^31 operations in 32 bytes", compound, wordsOf(0, 0, 1<<31, 10, 10, 10, 10, 10), 0, xdr.ErrCount},
		{"2^32-1 operations in 32 bytes", compound, wordsOf(0, 0, 1<<32-1, 10, 10, 10, 10, 10), 0, xdr.ErrCount},
		{"a tag of 2^32-1 bytes", compound, wordsOf(1<<32-1, 0, 0, 0, 0, 0, 0, 0), 0, xdr.ErrShort},
		{"2^31 words of a bitmap in an operation", compound, wordsOf(0, 0, 1, 9, 1<<31, 0, 0, 0), 0, xdr.ErrCount},
		{"a listing of small entries", func() decoded { return new(nfs4.Readdir4Res) }, readdir(wordsOf(0, 1), n), nfs4.Readdir4ResAmplification, nil},
		{"a listing that does not end", func() decoded { return new(nfs4.Readdir4Res) }, readdir(nil, n), nfs4.Readdir4ResAmplification, xdr.ErrShort},
	} {
		t.Run(c.name, func(t *testing.T) {
			spent, err := spending(func() error { return c.new().UnmarshalBinary(c.in) })
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			most := garbage*(max(budgetFactor, c.amp)*len(c.in)+budgetBase) + 2*len(c.in)
			if c.amp == 0 {
				most = 2 * budgetBase // no element is decoded
			}
			if spent > uint64(most) {
				t.Errorf("%d bytes of input take %d bytes, at most %d", len(c.in), spent, most)
			}
			if spent, _ := spending(func() error { _, err := c.new().CheckXDR(c.in); return err }); spent > budgetBase {
				t.Errorf("checking takes %d bytes", spent)
			}
		})
	}
}

// spending returns how many bytes do allocates, the least of three runs: the Go runtime allocates
// memory, too.
func spending(do func() error) (least uint64, err error) {
	least = 1 << 62
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = do()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least, err
}

// TestHostileMutations reads changed messages of every kind with all readers. They must stay within
// the budget, and within a short time for any length.
func TestHostileMutations(t *testing.T) {
	messages, err := Messages()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 9))
	for _, m := range messages {
		if m.Name != "e" && m.Name != "f" {
			continue
		}
		for round := range 4000 {
			in := append([]byte(nil), m.Wire[:4+r.IntN(len(m.Wire)-3)]...)
			for range 1 + r.IntN(3) {
				word := []uint32{0, 1, 2, 1 << 31, 1<<32 - 1, uint32(len(in)), uint32(r.IntN(60))}[r.IntN(7)]
				binary.BigEndian.PutUint32(in[4*r.IntN(len(in)/4):], word)
			}
			var v decoded = new(nfs4.Compound4Args)
			amp := max(budgetFactor, nfs4.Compound4ArgsAmplification)
			if m.Name == "f" {
				v, amp = new(envelope.Envelope), max(budgetFactor, envelope.EnvelopeAmplification)
			}
			var before, after runtime.MemStats
			if round%20 == 0 {
				runtime.ReadMemStats(&before)
			}
			start := time.Now()
			decodeErr := v.UnmarshalBinary(in)
			took := time.Since(start)
			if round%20 == 0 {
				runtime.ReadMemStats(&after)
				if spent := after.TotalAlloc - before.TotalAlloc; spent > uint64(garbage*(amp*len(in)+budgetBase)) {
					t.Fatalf("%s: %x takes %d bytes of memory", m.Name, in, spent)
				}
			}
			if took > 10*time.Second {
				t.Fatalf("%s: %x takes %v", m.Name, in, took)
			}
			n, checkErr := v.CheckXDR(in)
			if (decodeErr == nil) != (checkErr == nil && n == len(in)) && !errors.Is(decodeErr, xdr.ErrMemory) {
				t.Fatalf("%s: %x: decode %v, check %v", m.Name, in, decodeErr, fmt.Sprint(n, checkErr))
			}
		}
	}
}
