package cancel_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/cancel"
)

// call returns a Call with arguments.
func call(prog, vers, proc uint32, cred oncrpc.OpaqueAuth, args ...uint32) []byte {
	b, _ := oncrpc.NewCall(7, prog, vers, proc, cred).AppendBinary(nil)
	for _, a := range args {
		b = binary.BigEndian.AppendUint32(b, a)
	}
	return b
}

// The bytes of docs/cancel.md.
func TestBytesOnTheWire(t *testing.T) {
	var o cancel.Outbox
	o.Add(0x11223344)
	got := o.Next(7)
	want := []byte{
		0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2, // XID, CALL, RPC version
		0x20, 0x00, 0xca, 0x11, 0, 0, 0, 1, 0, 0, 0, 1, // program, version, procedure
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // credential and verifier: AUTH_NONE
		0, 0, 0, 1, 0x11, 0x22, 0x33, 0x44,
	}
	if !slices.Equal(got, want) {
		t.Errorf("% x\nwant\n% x", got, want)
	}
	// REPLY, MSG_ACCEPTED, SUCCESS
	if reply := cancel.Serve(got, func([]uint32) {}); !slices.Equal(reply, []byte{
		0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	}) {
		t.Errorf("% x", reply)
	}
}

// answered is a Call with its answer, and the XIDs in it.
type answered struct {
	name string
	call []byte
	want oncrpc.ReplyError
	xids []uint32
}

// answers returns Calls of each kind.
func answers() []answered {
	none, sys, _ := oncrpc.None(), oncrpc.OpaqueAuth{Flavor: oncrpc.AuthSys}, 0
	sys, _ = (&oncrpc.AuthSysParms{}).Auth()
	many := append([]uint32{cancel.MaxXIDs + 1}, make([]uint32, cancel.MaxXIDs+1)...)
	return []answered{
		{"two XIDs", call(cancel.Program, 1, 1, none, 2, 5, 6), oncrpc.ReplyError{}, []uint32{5, 6}},
		{"no XID", call(cancel.Program, 1, 1, none, 0), oncrpc.ReplyError{}, nil},
		{"too many XIDs", call(cancel.Program, 1, 1, none, many...), oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, nil},
		{"fewer XIDs than it says", call(cancel.Program, 1, 1, none, 2, 5), oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, nil},
		{"further bytes", call(cancel.Program, 1, 1, none, 1, 5, 6), oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, nil},
		{"another credential", call(cancel.Program, 1, 1, sys, 1, 5), *oncrpc.Refused(oncrpc.AuthStatRejectedCred), nil},
		{"a malformed credential", call(cancel.Program, 1, 1, oncrpc.OpaqueAuth{Flavor: oncrpc.AuthSys}, 1, 5), *oncrpc.Refused(oncrpc.AuthStatBadCred), nil},
		{"a request for a GSS context", call(cancel.Program, 1, 0, oncrpc.OpaqueAuth{Flavor: oncrpc.RPCSecGSS}), *oncrpc.Refused(oncrpc.AuthStatRejectedCred), nil},
		{"the null procedure", call(cancel.Program, 1, 0, sys), oncrpc.ReplyError{}, nil},
		{"the null procedure with arguments", call(cancel.Program, 1, 0, none, 1), oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, nil},
		{"another procedure", call(cancel.Program, 1, 2, none), oncrpc.ReplyError{Accept: oncrpc.ProcUnavail}, nil},
		{"another version", call(cancel.Program, 2, 1, none, 1, 5), oncrpc.ReplyError{Accept: oncrpc.ProgMismatch, Range: oncrpc.VersionRange{Low: 1, High: 1}}, nil},
		{"a header cut short", call(cancel.Program, 1, 1, none)[:30], oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, nil},
	}
}

// Each answer is the one of RFC 5531, and only a good Call gives XIDs.
func TestServeAnswersEachCall(t *testing.T) {
	for _, tt := range answers() {
		t.Run(tt.name, func(t *testing.T) {
			if !cancel.IsCall(tt.call) {
				t.Error("it is not a Call of the program")
			}
			var got []uint32
			reply := cancel.Serve(tt.call, func(xids []uint32) { got = append(got, xids...) })
			var head oncrpc.Header
			if err := head.UnmarshalBinary(reply); err != nil {
				t.Fatal(err)
			}
			refusal, _ := oncrpc.CheckReply(&head, 7).(*oncrpc.ReplyError)
			if refusal == nil {
				refusal = new(oncrpc.ReplyError)
			}
			if *refusal != tt.want || !slices.Equal(got, tt.xids) {
				t.Errorf("%+v and XIDs %v, want %+v and %v", *refusal, got, tt.want, tt.xids)
			}
		})
	}
}

// A Call of another program, of another RPC version, or a reply goes to the handler.
func TestOtherMessagesAreNotOfTheProgram(t *testing.T) {
	good := call(cancel.Program, 1, 1, oncrpc.None(), 0)
	if !cancel.IsCall(good) {
		t.Fatal("a Call of the program is not recognized")
	}
	for at, what := range map[int]string{7: "a reply", 11: "another RPC version", 15: "another program"} {
		other := slices.Clone(good)
		other[at] ^= 1
		if cancel.IsCall(other) {
			t.Errorf("%s is a Call of the program", what)
		}
	}
	if cancel.IsCall(good[:20]) {
		t.Error("a short message is a Call of the program")
	}
}

// One Call at a time has the XIDs, the oldest first and as many as a Call has.
func TestOutboxSendsEveryXID(t *testing.T) {
	var o cancel.Outbox
	if o.Waiting() || o.Next(1) != nil {
		t.Error("an empty Outbox has a Call")
	}
	ok, _ := oncrpc.NewReply(1, oncrpc.Success).AppendBinary(nil)
	for i := range uint32(100) {
		o.Add(1000 + i)
	}
	o.Forget(1010)
	var got []uint32
	for calls := 0; o.Waiting(); calls++ {
		c := o.Next(1)
		if o.Waiting() || o.Next(2) != nil {
			t.Fatal("two Calls at a time")
		}
		o.Add(2000)
		cancel.Serve(c, func(xids []uint32) {
			if len(xids) > cancel.MaxXIDs {
				t.Errorf("%d XIDs in a Call", len(xids))
			}
			got = append(got, xids...)
		})
		o.Answered(1, ok)
		o.Forget(2000)
	}
	if len(got) != 99 || got[0] != 1000 || got[10] != 1011 || got[98] != 1099 {
		t.Errorf("%v", got)
	}
}

// An answer that is not success turns the Outbox off, whatever it is.
func TestAnotherAnswerTurnsTheOutboxOff(t *testing.T) {
	ok, _ := oncrpc.NewReply(1, oncrpc.Success).AppendBinary(nil)
	unavailable, _ := oncrpc.NewReply(1, oncrpc.ProgUnavail).AppendBinary(nil)
	denied, _ := oncrpc.NewAuthError(1, oncrpc.AuthStatTooWeak).AppendBinary(nil)
	for name, tt := range map[string]struct {
		reply []byte
		off   bool
	}{
		"success":     {ok, false},
		"unavailable": {unavailable, true},
		"denied":      {denied, true},
		"results":     {append(slices.Clone(ok), 0, 0, 0, 1), true},
		"another XID": {append([]byte{9, 9, 9, 9}, ok[4:]...), true},
		"cut short":   {ok[:12], true},
		"no reply":    {nil, true},
	} {
		var o cancel.Outbox
		o.Add(5)
		o.Next(1)
		o.Add(6)
		o.Answered(1, tt.reply)
		if o.Waiting() == tt.off {
			t.Errorf("%s: the next Call is sent %t", name, o.Waiting())
		}
		if o.Add(7); o.Waiting() == tt.off {
			t.Errorf("%s: an XID that is added later is sent %t", name, o.Waiting())
		}
	}
}

// An Outbox whose peer does not answer stays small.
func TestOutboxForgetsTheOldest(t *testing.T) {
	var o cancel.Outbox
	o.Add(0)
	o.Next(1)
	for i := range uint32(5000) {
		o.Add(i)
	}
	ok, _ := oncrpc.NewReply(1, oncrpc.Success).AppendBinary(nil)
	o.Answered(1, ok)
	n := 0
	for ; o.Waiting(); n++ {
		c := o.Next(1)
		if n == 0 {
			cancel.Serve(c, func(xids []uint32) {
				if xids[0] != 5000-16*cancel.MaxXIDs {
					t.Errorf("the oldest is %d", xids[0])
				}
			})
		}
		o.Answered(1, ok)
	}
	if n != 16 {
		t.Errorf("%d Calls, want 16", n)
	}
}

// FuzzServe checks that no message makes Serve panic, give too many XIDs, or return no reply. The
// words that make a message a Call of the program are set, since the fuzzer does not find them.
func FuzzServe(f *testing.F) {
	for _, tt := range answers() {
		f.Add(tt.call)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		if len(message) >= 24 {
			message = slices.Clone(message)
			for at, word := range map[int]uint32{4: 0, 8: oncrpc.Version, 12: cancel.Program} {
				binary.BigEndian.PutUint32(message[at:], word)
			}
		}
		if cancel.IsCall(message) != (len(message) >= 24) {
			t.Fatalf("%d bytes: a Call of the program: %v", len(message), cancel.IsCall(message))
		}
		if len(message) < 24 {
			return
		}
		given := 0
		reply := cancel.Serve(message, func(xids []uint32) { given += len(xids) })
		xid, typ, ok := oncrpc.Peek(reply)
		if !ok || typ != oncrpc.MsgReply || xid != binary.BigEndian.Uint32(message) {
			t.Errorf("reply % x", reply)
		}
		var head oncrpc.Header
		if err := head.UnmarshalBinary(reply); err != nil {
			t.Fatal(err)
		}
		if failed := oncrpc.CheckReply(&head, xid) != nil; given > cancel.MaxXIDs || failed && given > 0 {
			t.Errorf("%d XIDs were given, and the reply is % x", given, reply)
		}
	})
}
