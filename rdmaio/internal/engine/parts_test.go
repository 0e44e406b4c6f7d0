package engine_test

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// partCall is a Call of 16 bytes, a chunk of 5 in two segments, its roundup, 4 bytes, a chunk of 6,
// its roundup, 4 bytes.
const partCall = `cafe0001 00000001 00000020 00000000
	00000001 00000010 000000aa 00000003 00000000 00001000
	00000001 00000010 000000bb 00000002 00000000 00002000
	00000001 0000001c 000000cc 00000006 00000000 00003000 00000000
	00000000 00000000
	cafe0001 00000000 11111111 00000005 22222222 33333333`

// memory holds the bytes that the peer of partCall serves, by key and address.
func memory(key uint32, at uint64, n int) (b []byte) {
	for i := range n {
		b = append(b, byte(key)&0xf0|byte(at+uint64(i))&0xf)
	}
	return b
}

// R60, R68, R309: a Call is assembled equally in one buffer and in growing ones, with any number of
// concurrent RDMA Reads, and each byte is read once.
func TestAssemblyInParts(t *testing.T) {
	const want = "cafe0001000000001111111100000005" + "a0a1a2b0b1" + "000000" + "22222222" + "c0c1c2c3c4c5" + "0000" + "33333333"
	const size = 40
	for first := 1; first <= size; first++ {
		for step := 1; step <= size; step += 3 {
			for _, reads := range []int{0, 1, 2} {
				e := newBench(t, engine.Responder, 2, 8)
				e.agreed(header.Terms{Send: 1024, Recv: 1024, Reads: reads})
				msg := unhex(t, partCall)
				copy(e.cfg.Recv[0].Bytes, msg)
				e.recv, e.open[0] = e.recv-1, false
				end, fetched := first, 0
				var assembled []byte
				events := []engine.Event{completion(verbs.WC{WRID: 0, Opcode: verbs.WCRecv, ByteLen: uint32(len(msg))})}
				var got *engine.Request
				for rounds := 0; got == nil && rounds < 200; rounds++ {
					f := e.e.Step(0, events)
					events = nil
					for _, wr := range f.Sends {
						if wr.Opcode != verbs.RDMARead {
							t.Fatalf("%v", wr.Opcode)
						}
						s := wr.SGL[0]
						copy(assembled[s.Offset:s.Offset+s.Length], memory(wr.RKey, wr.RemoteAddr, s.Length))
						fetched += s.Length
						if wr.Flags&verbs.SendSignaled != 0 {
							events = append(events, completion(verbs.WC{WRID: wr.WRID, Opcode: verbs.WCRDMARead}))
						}
					}
					for _, r := range f.Assemble {
						longer := make([]byte, min(end, size))
						end += step
						copy(longer, assembled[:r.AssemblyFilled])
						assembled = longer
						r.Assembly = engine.Buffer{Bytes: assembled}
						events = append(events, engine.Event{Kind: engine.EventAssembly, Request: r})
					}
					if len(f.Deliver) > 0 {
						got = f.Deliver[0]
					}
				}
				if got == nil {
					t.Fatalf("buffers of %d and %d more, %d Reads: not delivered", first, step, reads)
				}
				if diff := cmp.Diff(want, hex.EncodeToString(got.Message)); diff != "" {
					t.Fatalf("buffers of %d and %d more, %d Reads: %s", first, step, reads, diff)
				}
				if st := e.e.Stats(); fetched != 11 || st.BytesRead != 11 || e.e.Delivered() != uint64(len(msg))+11 {
					t.Fatalf("buffers of %d and %d more: %d bytes fetched, %d counted, %d delivered", first, step, fetched, st.BytesRead, e.e.Delivered())
				}
				if diff := cmp.Diff("[{16 5} {28 6}]", fmt.Sprint(got.Placed)); diff != "" {
					t.Fatal(diff)
				}
			}
		}
	}
}
