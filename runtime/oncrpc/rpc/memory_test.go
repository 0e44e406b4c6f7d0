package rpc_test

import (
	"encoding/binary"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// ledger is a Responder that gives most bytes of memory to decoded arguments.
type ledger struct {
	answer
	most, taken, asked int
	reports            int
}

func (l *ledger) Reserve(n int) bool {
	if l.asked++; l.taken+n > l.most {
		return false
	}
	l.taken += n
	return true
}

func (l *ledger) Report(error) { l.reports++ }

// namesCall is a Call of a procedure with a list of n empty names.
func namesCall(p oncrpc.Program, proc uint32, n int) []byte {
	b, _ := oncrpc.NewCall(7, p.Number, p.Version, proc, oncrpc.None()).AppendBinary(nil)
	for range n {
		b = binary.BigEndian.AppendUint64(b, 1<<32)
	}
	return binary.BigEndian.AppendUint32(b, 0)
}

// Beyond 4 KiB the values of arguments need memory from the carrier. If it refuses, the call is
// answered with SYSTEM_ERR, and not with GARBAGE_ARGS.
func TestValuesOfArgumentsTakeMemoryOfTheCarrier(t *testing.T) {
	program := oncrpc.Program{Number: 0x20000099, Version: 1}
	for _, tt := range []struct {
		names, most     int
		least, atMost   int // bytes taken
		asked, executed int
	}{
		{0, 0, 0, 0, 0, 1},
		{100, 0, 0, 0, 0, 1},
		{100_000, 1 << 30, 1_600_000 - 4096, 4 << 20, 11, 1},
		{100_000, 1_600_000 - 4097, 0, 1_600_000 - 4097, 11, 0},
	} {
		executed := 0
		svc := rpc.NewService(program)
		rpc.Handle(svc, 1, func(_ *rpc.Request, args *mount3.Groups, _ *oncrpc.Void) error {
			if len(*args) == tt.names {
				executed++
			}
			return nil
		})
		h := rpc.NewHandler(nil, svc)
		for range 3 { // memory of an earlier call does not count less
			executed = 0
			l := &ledger{most: tt.most}
			h.ServeRPC(&oncrpc.Request{Message: namesCall(program, 1, tt.names), Responder: l})
			var m oncrpc.Header
			want := oncrpc.SystemErr
			if tt.executed == 1 {
				want = oncrpc.Success
			}
			if err := m.UnmarshalBinary(l.reply.Inline); err != nil || m.Body.Reply.Accepted.Data.Stat != want || l.reports != 1-tt.executed {
				t.Errorf("%d names: answer %x, want %v; %d reports", tt.names, l.reply.Inline, want, l.reports)
			}
			if executed != tt.executed || l.taken < tt.least || l.taken > tt.atMost || l.asked > tt.asked || (l.asked > 0) != (tt.asked > 0) {
				t.Errorf("%d names: executed %d times, %d bytes taken by %d questions", tt.names, executed, l.taken, l.asked)
			}
		}
	}
}

// Short calls keep the memory of their arguments for later ones, up to 64 KiB.
func TestShortArgumentsAreDecodedIntoTheSameMemory(t *testing.T) {
	program := oncrpc.Program{Number: 0x20000099, Version: 1}
	svc := rpc.NewService(program)
	seen := make(map[*mount3.Name]int)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args *mount3.Groups, _ *oncrpc.Void) error {
		seen[&(*args)[0]]++
		return nil
	})
	h := rpc.NewHandler(nil, svc)
	message := namesCall(program, 1, 100)
	for range 20 {
		h.ServeRPC(&oncrpc.Request{Message: message, Responder: &ledger{}})
	}
	if len(seen) > 10 { // the race detector drops some
		t.Errorf("20 calls decoded into %d places", len(seen))
	}
}

// The memory of one call does not count for the next one.
func TestEachCallHasItsOwnMemory(t *testing.T) {
	program := oncrpc.Program{Number: 0x20000099, Version: 1}
	svc := rpc.NewService(program)
	const procs = 50
	for proc := range uint32(procs) { // each has its own values, which take new memory
		rpc.Handle(svc, proc+1, func(*rpc.Request, *mount3.Groups, *oncrpc.Void) error { return nil })
	}
	h := rpc.NewHandler(nil, svc)
	for proc := range uint32(procs) {
		l := &ledger{}
		h.ServeRPC(&oncrpc.Request{Message: namesCall(program, proc+1, 100), Responder: l})
		if l.asked != 0 {
			t.Fatalf("call %d asks for memory, and needs less than 4 KiB", proc)
		}
	}
}
