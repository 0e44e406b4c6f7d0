package v2_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// sentCalls are XIDs of Calls that were sent.
type sentCalls map[uint32]bool

func (c sentCalls) Outstanding(xid uint32) bool { return c[xid] }

// noLookup fails a test that looks up an XID.
type noLookup struct{ t *testing.T }

func (c noLookup) Outstanding(uint32) bool {
	c.t.Error("the XID was looked up")
	return true
}

// R144, R146, T34: the purpose of a message comes from its kind and RESPONSE flag, at both ends,
// and no XID is looked up.
func TestKindAndFlagDecideThePurpose(t *testing.T) {
	invalid := &header.Fault{Code: header.FaultXDR}
	for name, c := range map[string]struct {
		m    header.Message
		f    *header.Fault
		want protocol.Purpose
	}{
		"Call":                          {header.Message{}, nil, protocol.Call},
		"Reply":                         {header.Message{Answer: true}, nil, protocol.Answer},
		"long Call":                     {header.Message{Kind: header.KindNomsg}, nil, protocol.Call},
		"long Reply":                    {header.Message{Kind: header.KindNomsg, Answer: true}, nil, protocol.Answer},
		"ERROR":                         {header.Message{Kind: header.KindError, Answer: true}, nil, protocol.Answer},
		"properties":                    {header.Message{Kind: header.KindProps}, nil, protocol.Props},
		"properties, as an answer":      {header.Message{Kind: header.KindProps, Answer: true}, nil, protocol.Props},
		"grant":                         {header.Message{Kind: header.KindGrant, Answer: true}, nil, protocol.Grant},
		"extension":                     {header.Message{Kind: header.KindOther, Answer: true}, nil, protocol.Other},
		"too short":                     {header.Message{}, &header.Fault{Code: header.FaultShort}, protocol.Drop},
		"invalid Call":                  {header.Message{}, invalid, protocol.Call},
		"invalid Reply":                 {header.Message{Answer: true}, invalid, protocol.Answer},
		"invalid properties":            {header.Message{Kind: header.KindProps}, invalid, protocol.Call},
		"ERROR with undefined flags":    {header.Message{Kind: header.KindError, Answer: true}, &header.Fault{Code: header.FaultFlags}, protocol.Answer},
		"unknown header type":           {header.Message{}, &header.Fault{Code: header.FaultProcedure}, protocol.Call},
		"unknown header type, answered": {header.Message{Answer: true}, &header.Fault{Code: header.FaultProcedure}, protocol.Answer},
	} {
		for _, forward := range []protocol.Purpose{protocol.Answer, protocol.Call} {
			end := protocol.End{Forward: forward, Calls: noLookup{t}}
			if got := newVersion(false).Classify(&c.m, c.f, &end); got != c.want {
				t.Errorf("%s, with %d as forward: %d, want %d", name, forward, got, c.want)
			}
		}
	}
}

// T101: a message of another version has no flags that are known. It belongs to the forward
// direction, and what may be an answer is not answered.
func TestClassifyOtherVersion(t *testing.T) {
	f := &header.Fault{Code: header.FaultVersion}
	for _, c := range []struct {
		xid           uint32
		forward, want protocol.Purpose
	}{
		{1, protocol.Answer, protocol.Answer},
		{2, protocol.Answer, protocol.Drop},
		{1, protocol.Call, protocol.Call},
		{2, protocol.Call, protocol.Call},
	} {
		end := protocol.End{Forward: c.forward, Calls: sentCalls{1: true}}
		if got := newVersion(false).Classify(&header.Message{XID: c.xid}, f, &end); got != c.want {
			t.Errorf("XID %d, with %d as forward: %d, want %d", c.xid, c.forward, got, c.want)
		}
	}
}

// The error that answers each fault: R141, R143, R196 to R200, R202, R203, R205 and R210, A9, T29,
// T51 and T118.
func TestEachFaultHasItsError(t *testing.T) {
	badXDR := header.Error{Code: header.ErrChunk}
	want := map[header.Code]header.Error{
		header.FaultVersion:   {Code: header.ErrVers, Low: 2, High: 2},
		header.FaultProcedure: {Code: header.ErrHeaderType},
		header.FaultFlags:     {Code: header.ErrFlag},
		header.FaultMore:      {Code: header.ErrFlag},
		header.FaultSequence:  {Code: header.ErrFlag},
		header.FaultType:      {Code: header.ErrFlag},
		header.FaultChunks:    {Code: header.ErrWriteChunks, Max: 4},
		header.FaultSegments:  {Code: header.ErrSegments, Max: 4},
		header.FaultNoReads:   {Code: header.ErrReadChunks},
		header.FaultReverse:   {Code: header.ErrReplyResource},
		header.FaultBytes:     {Code: header.ErrSystem},
		header.FaultLong:      {Code: header.ErrSystem},
		header.FaultAddress:   {Code: header.ErrSystem},
		header.FaultCredit:    {Code: header.ErrSystem},
	}
	v := newVersion(false)
	for code := header.FaultShort; code <= header.FaultCredit; code++ {
		e, ok := want[code]
		if !ok {
			e = badXDR
		}
		got := v.Refusal(&header.Fault{Code: code, Found: 9, Want: 4})
		if got != e {
			t.Errorf("code %d: %+v, want %+v", code, got, e)
		}
		if v.Error(got) != got {
			t.Errorf("code %d: Error changes %+v", code, got)
		}
	}
	for _, c := range []struct {
		f    header.Fault
		want header.Error
	}{
		{header.Fault{Code: header.FaultChunks, Where: "read list", Want: 4}, header.Error{Code: header.ErrReadChunks, Max: 4}},
		{header.Fault{Code: header.FaultChunks, Where: "read list"}, header.Error{Code: header.ErrReadChunks}},
		{header.Fault{Code: header.FaultChunks, Where: "write list", Want: 1 << 40}, header.Error{Code: header.ErrWriteChunks, Max: 0xffffffff}},
		{header.Fault{Code: header.FaultChunks, Where: "write list"}, header.Error{Code: header.ErrReplyResource}},
		{header.Fault{Code: header.FaultReverse, Where: "read list"}, header.Error{Code: header.ErrReadChunks}},
		{header.Fault{Code: header.FaultReverse, Where: "write list"}, header.Error{Code: header.ErrReplyResource}},
	} {
		if got := v.Refusal(&c.f); got != c.want {
			t.Errorf("%v: %+v, want %+v", &c.f, got, c.want)
		}
	}
}

// R260, R261: the key that a Reply invalidates is the one that the Call names, if this end allows
// it.
func TestInvalidateKey(t *testing.T) {
	v := newVersion(false)
	named := header.Message{InvalidateKey: 7}
	other := header.Message{Lists: header.Lists{HasReply: true, Reply: []header.Segment{seg(9, 1, 0)}}}
	for agreed, want := range map[bool]uint32{false: 0, true: 7} {
		if got := v.InvalidateKey(&named, agreed); got != want {
			t.Errorf("agreed %v: key %d, want %d", agreed, got, want)
		}
		if got := v.InvalidateKey(&other, agreed); got != 0 {
			t.Errorf("key %d, want none", got)
		}
	}
	if !v.Continues() || v.Number() != 2 {
		t.Errorf("Continues %v, Number %d", v.Continues(), v.Number())
	}
}
