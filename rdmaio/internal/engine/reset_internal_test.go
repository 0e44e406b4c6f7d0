package engine

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// lent is a loan that counts its returns.
type lent struct{ returned int }

func (*lent) Bytes() []byte { return nil }
func (l *lent) Return()     { l.returned++ }

// A Request of a Call without chunks is as small as is said: a connection has as many as the peer
// has credits.
func TestRequestIsSmall(t *testing.T) {
	if n := reflect.TypeFor[Request]().Size(); n > 512 {
		t.Errorf("a Request has %d bytes, want at most 512", n)
	}
	if r := newRequest(); r.Chunks != nil || r.Answer.Results != nil {
		t.Error("a Request has parts for chunks before it has any")
	}
}

// A Request is used again: nothing of a Call may be left in it for the next one. hdr and plan are
// set for each message, before they are used.
func TestRequestReset(t *testing.T) {
	some := errors.New("some")
	sge := verbs.SGE{Length: 1}
	bytes := []byte{1}
	r := Request{
		XID: 1, Message: bytes, Padding: Padding{Align: 1},
		Chunks: &Chunks{
			Placed: []chunk.Placed{{}}, AssemblySize: 1, AssemblyLead: 1, AssemblyFilled: 1, Assembly: Buffer{Bytes: bytes},
			plan: chunk.Plan{Size: 1}, pulling: pulling{reads: 1, unread: 1, batch: 1, size: 1}, transfers: []transfer{{sge: sge}}, written: 1,
		},
		Answer: Answer{
			Refuse: header.Error{Code: 1}, Drop: true, Payload: [][]byte{bytes, bytes},
			Results: &Results{Long: sge, Reads: []header.ReadSegment{{}}, Data: []verbs.SGE{sge}},
		},
		Owner: 1, Err: some, Refused: some,
		state: released, hdr: header.Message{Payload: bytes},
		source: source{joined: bytes, copy: bytes, loan: new(lent), recv: 1}, ticket: 1, key: 1, reply: new(pending),
		deadline: time.Second,
	}
	parts := func() []reflect.Value {
		return []reflect.Value{
			reflect.ValueOf(r), reflect.ValueOf(*r.Chunks), reflect.ValueOf(r.Answer), reflect.ValueOf(*r.Answer.Results),
			reflect.ValueOf(r.source), reflect.ValueOf(r.pulling),
		}
	}
	payload, data, transfers := r.Answer.Payload, r.Answer.Data, r.transfers
	for _, v := range parts() {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("the test does not set %s.%s", v.Type().Name(), v.Type().Field(i).Name)
			}
		}
	}
	loan := r.source.loan.(*lent)
	r.reset()
	if loan.returned != 1 {
		t.Errorf("the loan was returned %d times", loan.returned)
	}
	for _, b := range append(payload, r.hdr.Payload) {
		if b != nil {
			t.Error("a payload is still referred to")
		}
	}
	if data[0] != (verbs.SGE{}) || transfers[0].sge != (verbs.SGE{}) {
		t.Errorf("%v and %v are still referred to", data[0], transfers[0])
	}
	for _, v := range parts() {
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i).Name
			switch {
			case name == "hdr", name == "plan", name == "Answer", name == "source", name == "Chunks", name == "Results":
			case name == "recv" && f.Int() == none:
			case f.Kind() == reflect.Slice && f.Len() == 0:
			case !f.IsZero():
				t.Errorf("%s.%s is %v", v.Type().Name(), name, f)
			}
		}
	}
}
