package gss_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
)

// letters is a mechanism for messages that can be read: a checksum is "mic" and the direction, and
// "<>" is around encrypted data. fail has the calls that fail.
type letters struct {
	peer, own string
	fail      map[string]bool
}

func (l *letters) failure(call string) error {
	if l.fail[call] {
		return errors.New(call + " fails")
	}
	return nil
}

func (l *letters) InitSecContext(_ context.Context, c gss.Context, token []byte) (gss.Step, error) {
	if c == nil {
		return gss.Step{Context: l, Token: []byte("hello")}, nil
	}
	if string(token) != "welcome!" {
		return gss.Step{}, errors.New("another token")
	}
	return gss.Step{Context: l, Complete: true}, nil
}

func (l *letters) AcceptSecContext(_ context.Context, _ gss.Context, token []byte) (gss.Step, error) {
	if string(token) != "hello" {
		return gss.Step{}, errors.New("another token")
	}
	return gss.Step{Context: l, Token: []byte("welcome!"), Complete: true}, nil
}

func (l *letters) GetMIC(dst, _ []byte) ([]byte, error) {
	return append(dst, "mic"+l.own...), l.failure("GetMIC")
}

func (l *letters) VerifyMIC(_, mic []byte) error {
	if string(mic) != "mic"+l.peer {
		return errors.New("another checksum")
	}
	return l.failure("VerifyMIC")
}

func (l *letters) Wrap(dst, message []byte) ([]byte, error) {
	return append(append(append(dst, '<'), message...), '>'), l.failure("Wrap")
}

func (l *letters) Unwrap(dst, token []byte) ([]byte, error) {
	if len(token) < 2 || token[0] != '<' {
		return nil, errors.New("no token")
	}
	return append(dst, token[1:len(token)-1]...), l.failure("Unwrap")
}

func (l *letters) Inquire() gss.Info { return gss.Info{Initiator: "a", MICSize: 4, WrapOverhead: 2} }
func (l *letters) Delete()           {}

// listener passes messages to a Handler and keeps the bytes of both directions.
type listener struct {
	h              oncrpc.Handler
	xid            uint32
	calls, replies [][]byte
}

func (l *listener) XID() uint32 { l.xid++; return l.xid }

func (l *listener) Call(_ context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	l.calls = append(l.calls, join(call.Message))
	var line line
	l.h.ServeRPC(&oncrpc.Request{Message: join(call.Message), Responder: responder{&line}})
	if line.reply == nil {
		return nil, &oncrpc.CallError{XID: call.XID(), MayHaveRun: true, Err: errors.New("dropped")}
	}
	l.replies = append(l.replies, bytes.Clone(line.reply))
	call.Reply = oncrpc.Reply{Message: line.reply}
	return &call.Reply, nil
}

// unhex returns bytes written as hexadecimal digits and as letters in quotes.
func unhex(t *testing.T, s string) (b []byte) {
	t.Helper()
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 {
			b = append(b, part...)
			continue
		}
		digits, err := hex.DecodeString(strings.Join(strings.Fields(part), ""))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, digits...)
	}
	return b
}

// The bytes of all messages, written out by hand from RFC 2203 §5 and RFC 5531 §9. The handle is
// random: 'H' stands for each of its bytes.
func TestMessagesHaveTheirBytes(t *testing.T) {
	const (
		handle  = " 00000010 'HHHHHHHHHHHHHHHH' "
		program = " 00061a80 00000001 " // 400000, 1
		cred    = " 00000006 00000024 00000001 "
		verf    = " 00000006 00000004 "
	)
	for _, tt := range []struct {
		service         gss.Service
		number          string
		args, res       string // protected
		destroyedNumber string
	}{
		{gss.None, "00000001", "'args'", "'args'", "00000002"},
		{gss.Integrity, "00000002", "00000008 00000001 'args' 00000004 'micC'", "00000008 00000001 'args' 00000004 'micS'", "00000002"},
		{gss.Privacy, "00000003", "0000000a '<' 00000001 'args>' 0000", "0000000a '<' 00000001 'args>' 0000", "00000002"},
	} {
		t.Run(tt.service.String(), func(t *testing.T) {
			wire := &listener{h: gss.NewHandler(oncrpc.HandlerFunc(echo), &letters{own: "S", peer: "C"}, nil)}
			c := secure(t, wire, &letters{own: "C", peer: "S"}, tt.service)
			xid := c.XID()
			b, err := oncrpc.NewCall(xid, testProgram, testVersion, 7, oncrpc.None()).AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: append(b, "args"...)}})
			if err != nil {
				t.Fatal(err)
			}
			plain := "00000001 00000001 00000000 0000000000000000 00000000 'args'"
			if want := unhex(t, plain); !bytes.Equal(reply.Message, want) {
				t.Errorf("the caller gets %x\nwant            %x", reply.Message, want)
			}
			if err := c.Close(soon(t)); err != nil {
				t.Fatal(err)
			}
			calls := []string{
				// RPCSEC_GSS_INIT: an empty handle, the token after an AUTH_NONE verifier (§5.2.2)
				"00000002 00000000 00000002" + program + "00000000 00000006 00000014 00000001 00000001 00000000" + tt.number + "00000000" +
					"00000000 00000000 00000005 'hello' 000000",
				// RPCSEC_GSS_DATA (§5.3.1, §5.3.2)
				"00000001 00000000 00000002" + program + "00000007" + cred + "00000000 00000001" + tt.number + handle + verf + "'micC'" + tt.args,
				// RPCSEC_GSS_DESTROY (§5.4)
				"00000003 00000000 00000002" + program + "00000000" + cred + "00000003" + tt.destroyedNumber + "00000001" + handle + verf + "'micC'",
			}
			replies := []string{
				// rpc_gss_init_res, with the checksum of the window as verifier (§5.2.3.1)
				"00000002 00000001 00000000" + verf + "'micS' 00000000" + handle + "00000000 00000000 00000080 00000008 'welcome!'",
				"00000001 00000001 00000000" + verf + "'micS' 00000000" + tt.res,
				"00000003 00000001 00000000" + verf + "'micS' 00000000",
			}
			check := func(what string, got [][]byte, want []string) {
				if len(got) != len(want) {
					t.Fatalf("%d %s, want %d", len(got), what, len(want))
				}
				random := wire.replies[0][8+4+12+4+4 : 8+4+12+4+4+16]
				for i := range got {
					g := bytes.ReplaceAll(got[i], random, bytes.Repeat([]byte{'H'}, 16))
					if w := unhex(t, want[i]); !bytes.Equal(g, w) {
						t.Errorf("%s %d is\n%x, want\n%x", what, i, g, w)
					}
				}
			}
			check("calls", wire.calls, calls)
			check("replies", wire.replies, replies)
		})
	}
}

// If the mechanism fails on the server's side, the caller gets no reply, or the reply that the RFC
// says, and the server's log the reason (RFC 2203 §5.3.3.4).
func TestMechanismFails(t *testing.T) {
	for _, tt := range []struct {
		call    string
		service gss.Service
		want    string
		reports int
	}{
		{"GetMIC", gss.None, "RPCSEC_GSS_CTXPROBLEM", 1},
		{"GetMIC", gss.Integrity, "RPCSEC_GSS_CTXPROBLEM", 1},
		{"VerifyMIC", gss.Integrity, "RPCSEC_GSS_CREDPROBLEM", 0},
		{"Wrap", gss.Privacy, "dropped", 1},
		{"Unwrap", gss.Privacy, "GARBAGE_ARGS", 0},
	} {
		t.Run(tt.call+"/"+tt.service.String(), func(t *testing.T) {
			fail := map[string]bool{}
			answered := 0
			h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				b, _ := oncrpc.NewReply(1, oncrpc.Success).AppendBinary(nil)
				r.Reply(oncrpc.Message{Inline: b}, func(err error) {
					if answered++; (err != nil) != (tt.want == "dropped") {
						t.Errorf("done gets %v", err)
					}
				})
				second := 0
				count := func(err error) {
					if errors.Is(err, oncrpc.ErrAnswered) {
						second++
					}
				}
				r.Reply(oncrpc.Message{Inline: b}, count)
				r.Drop(count)
				if second != 2 {
					t.Errorf("%d further answers were refused", second)
				}
			}), &letters{own: "S", peer: "C", fail: fail}, nil)
			p := newPeer(t, h, nil, "192.0.2.1:1")
			p.mech = &letters{own: "C", peer: "S"}
			res, _, err := p.init(gss.ProcInit, []byte("hello"))
			if err != nil || res.Major != gss.StatusComplete {
				t.Fatalf("%+v, %v", res, err)
			}
			p.handle, p.xid = res.Handle, 0
			fail[tt.call] = true
			body := map[gss.Service]func(uint32, []byte) []byte{
				gss.None: func(uint32, []byte) []byte { return nil }, gss.Integrity: p.integ, gss.Privacy: p.priv,
			}[tt.service](1, nil)
			r := &oncrpc.Request{Message: p.call(1, 1, tt.service, body), Responder: responder{p.line}}
			p.line.reply, p.line.answers = nil, 0
			h.ServeRPC(r)
			got := "dropped"
			if p.reply != nil {
				got = refusal(t, p.reply)
			}
			if p.answers != 1 {
				t.Errorf("%d answers", p.answers)
			}
			if got != tt.want || len(p.reports) != tt.reports {
				t.Errorf("%s and %d reports %v, want %s and %d", got, len(p.reports), p.reports, tt.want, tt.reports)
			}
		})
	}
}
