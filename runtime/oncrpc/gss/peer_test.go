package gss_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// line is a connection that passes messages to a Handler, and is its Responder: a peer in tests
// sends any bytes.
type line struct {
	oncrpc.Conn // nil
	addr        string
	room        []int
	less        int // bytes of room for replies, below 1000

	reply   []byte
	answers int
	dropped bool
	reports []error
}

func (l *line) RemoteAddr() string               { return l.addr }
func (l *line) Peer() oncrpc.Peer                { return oncrpc.Peer{Addr: l.addr} }
func (l *line) Context() context.Context         { return context.Background() }
func (l *line) Room() (results []int, reply int) { return l.room, 1000 - l.less }
func (l *line) Report(err error)                 { l.reports = append(l.reports, err) }
func (l *line) Serve(oncrpc.Handler)             {}
func (l *line) Reserve(int) bool                 { return true }

func (l *line) Drop(done func(error)) {
	l.answers++
	l.dropped = true
	finish(done, nil)
}

func (l *line) Reply(m oncrpc.Message, done func(error)) {
	l.answers++
	l.reply = join(m)
	finish(done, nil)
}

func finish(done func(error), err error) {
	if done != nil {
		done(err)
	}
}

// responder adapts line, whose Conn is a field.
type responder struct{ *line }

func (r responder) Conn() oncrpc.Conn { return r.line }

func join(m oncrpc.Message) (b []byte) {
	for _, part := range m.Gather(nil, nil) {
		b = append(b, part...)
	}
	return b
}

// send passes a message to a handler, which must answer at once. It returns nil if it was dropped.
func (l *line) send(t testing.TB, h oncrpc.Handler, message []byte, placed ...xdr.Item) []byte {
	t.Helper()
	l.reply, l.answers, l.dropped = nil, 0, false
	r := &oncrpc.Request{Message: append([]byte(nil), message...), Placed: placed, Responder: responder{l}}
	h.ServeRPC(r)
	if l.answers != 1 || (l.reply == nil) != l.dropped {
		t.Fatalf("%d answers, dropped: %v", l.answers, l.dropped)
	}
	return l.reply
}

// peer is a client that makes its messages itself.
type peer struct {
	*line
	t       testing.TB
	handler oncrpc.Handler
	realm   *gsstest.Realm
	mech    gss.Context
	handle  []byte
	window  uint32
	xid     uint32
}

const testProgram, testVersion = 400_000, 1

func newPeer(t testing.TB, h oncrpc.Handler, realm *gsstest.Realm, addr string) *peer {
	return &peer{line: &line{addr: addr}, t: t, handler: h, realm: realm}
}

// auth is a credential or verifier.
func auth(b []byte, flavor oncrpc.Flavor, body []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(flavor))
	return opaque(b, body)
}

func opaque(b, body []byte) []byte {
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(body))), body...)
	return append(b, make([]byte, -len(body)&3)...)
}

func words(b []byte, list ...uint32) []byte {
	for _, w := range list {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// cred returns the body of a credential.
func (p *peer) cred(proc gss.Proc, seq uint32, service gss.Service) []byte {
	return opaque(words(nil, 1, uint32(proc), seq, uint32(service)), p.handle)
}

// start returns a call up to the credential, included.
func (p *peer) start(proc uint32, cred []byte) []byte {
	p.xid++
	return auth(words(nil, p.xid, 0, 2, testProgram, testVersion, proc), oncrpc.RPCSecGSS, cred)
}

// mic returns a checksum.
func (p *peer) mic(b []byte) []byte {
	mic, err := p.mech.GetMIC(nil, b)
	if err != nil {
		p.t.Fatal(err)
	}
	return mic
}

// call returns a call of a procedure with a right header.
func (p *peer) call(proc uint32, seq uint32, service gss.Service, body []byte) []byte {
	b := p.start(proc, p.cred(gss.ProcData, seq, service))
	return append(auth(b, oncrpc.RPCSecGSS, p.mic(b)), body...)
}

// integ returns arguments with integrity.
func (p *peer) integ(seq uint32, args []byte) []byte {
	data := append(words(nil, seq), args...)
	return opaque(opaque(nil, data), p.mic(data))
}

// priv returns arguments with privacy.
func (p *peer) priv(seq uint32, args []byte) []byte {
	wrapped, err := p.mech.Wrap(nil, append(words(nil, seq), args...))
	if err != nil {
		p.t.Fatal(err)
	}
	return opaque(nil, wrapped)
}

// init sends a token, and returns the response.
func (p *peer) init(proc gss.Proc, token []byte) (res gss.InitRes, head oncrpc.Header, err error) {
	b := auth(p.start(0, p.cred(proc, 77, 99)), oncrpc.AuthNone, nil) // 77 and 99 mean nothing
	reply := p.send(p.t, p.handler, opaque(b, token))
	dec := xdr.NewDecoder(reply, nil)
	if err := head.DecodeXDR(dec); err != nil {
		p.t.Fatal(err)
	}
	if err := oncrpc.CheckReply(&head, p.xid); err != nil {
		return res, head, err
	}
	if err := errors.Join(res.DecodeXDR(dec), dec.Done()); err != nil {
		p.t.Fatal(err)
	}
	return res, head, nil
}

// begin begins a context.
func (p *peer) begin(user string) (gss.Step, gss.InitRes, error) {
	p.handle = nil
	step, err := p.realm.Initiator(user, "server").InitSecContext(context.Background(), nil, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	res, _, err := p.init(gss.ProcInit, step.Token)
	return step, res, err
}

// connect makes a context with a mechanism that exchanges two tokens.
func (p *peer) connect(user string) {
	p.t.Helper()
	step, res, err := p.begin(user)
	if err == nil {
		step, err = p.realm.Initiator(user, "server").InitSecContext(context.Background(), step.Context, res.Token)
	}
	if err != nil || !step.Complete || res.Major != gss.StatusComplete {
		p.t.Fatalf("no context: %+v, %+v, %v", step, res, err)
	}
	p.mech, p.handle, p.window = step.Context, res.Handle, res.SeqWindow
}

// result is the answer to a call: "dropped", the status of a refusal, or "ok".
func (p *peer) result(message []byte, placed ...xdr.Item) string {
	p.t.Helper()
	reply := p.send(p.t, p.handler, message, placed...)
	if reply == nil {
		return "dropped"
	}
	return refusal(p.t, reply)
}

// refusal returns the status of a refusal, or "ok".
func refusal(t testing.TB, reply []byte) string {
	t.Helper()
	var head oncrpc.Header
	dec := xdr.NewDecoder(reply, nil)
	if err := head.DecodeXDR(dec); err != nil {
		t.Fatalf("%v: %x", err, reply)
	}
	switch r := &head.Body.Reply; {
	case r.Stat == oncrpc.Denied && r.Rejected.Stat == oncrpc.AuthError:
		return r.Rejected.AuthStat.String()
	case r.Stat == oncrpc.Denied:
		return r.Rejected.Stat.String()
	case r.Accepted.Data.Stat != oncrpc.Success:
		return r.Accepted.Data.Stat.String()
	}
	return "ok"
}

// echo answers each call with its arguments. It is the next Handler of a gss.Handler.
func echo(r *oncrpc.Request) {
	var head oncrpc.Header
	dec := xdr.NewDecoder(r.Message, nil)
	if err := head.DecodeXDR(dec); err != nil {
		r.Drop(nil)
		return
	}
	b, _ := oncrpc.NewReply(head.XID, oncrpc.Success).AppendBinary(nil)
	r.Reply(oncrpc.Message{Inline: append(b, dec.Rest()...)}, nil)
}
