package rdmaio

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Every error of the engine except ErrInternal reaches users as one that this package exports, with
// the details.
func TestErrorsOfTheEngineReachUsers(t *testing.T) {
	tests := []struct {
		from, is error
		text     string
	}{
		{&engine.Error{Reason: engine.ErrTimeout, Detail: "30s"}, ErrTimeout, "rdmaio: posted work did not complete within Config.WorkTimeout: 30s"},
		{&engine.Error{Reason: engine.ErrTooManyErrors, Detail: "limit 64"}, ErrTooManyErrors, "MaxErrors allows: limit 64"},
		{&engine.Error{Reason: engine.ErrInvalidated, Detail: "0x7"}, ErrInvalidated, ": 0x7"},
		{&engine.Error{Reason: engine.ErrNoDone, Detail: "XID 7"}, ErrNoDone, ": XID 7"},
		{&engine.Error{Reason: engine.ErrXIDInUse}, ErrXIDInUse, "oncrpc: a Call with this XID"},
		{&engine.Error{Reason: engine.ErrEarlyReply, Detail: "XID 7"}, nil, "rdmaio: the peer answered the Call before it had received all of it"},
		{&engine.Error{Reason: engine.ErrInternal, Detail: "chain 7"}, engine.ErrInternal, "rdmaio: bug in this package or in the provider: engine: internal error: chain 7"},
		{verbs.ErrPeerDisconnected, verbs.ErrPeerDisconnected, verbs.ErrPeerDisconnected.Error()},
		{&header.Fault{Code: header.FaultXDR, Err: io.EOF}, io.EOF, "EOF"},
		{&engine.PeerError{Body: header.Error{Code: header.ErrVers, Low: 2, High: 3}}, nil, "versions 2 to 3"},
		{&engine.SizeError{Need: 7, Limit: 6}, nil, "7 bytes, limit is 6"},
	}
	for _, tt := range tests {
		got := translate(tt.from)
		if tt.is != nil && !errors.Is(got, tt.is) || !strings.Contains(got.Error(), tt.text) {
			t.Errorf("%#v becomes %v, want an error that is %v and has %q", tt.from, got, tt.is, tt.text)
		}
	}
	var (
		fault *Fault
		peer  *PeerError
		size  *SizeError
	)
	if err := translate(&header.Fault{Code: header.FaultAddress, Found: 7}); !errors.As(err, &fault) || fault.Code != FaultAddress || fault.Found != 7 {
		t.Errorf("a fault becomes %#v", err)
	}
	if err := translate(&engine.PeerError{Body: header.Error{Code: header.ErrChunk}}); !errors.As(err, &peer) || peer.Code != PeerErrChunk {
		t.Errorf("an RDMA_ERROR becomes %#v", err)
	}
	if err := translate(&engine.SizeError{Need: 7}); !errors.As(err, &size) || size.Need != 7 {
		t.Errorf("a size error becomes %#v", err)
	}
	if err := translate(nil); err != nil {
		t.Errorf("nil becomes %v", err)
	}
}

// The codes of Fault have the names and numbers of those in package header.
func TestFaultCodes(t *testing.T) {
	if d, want := faultCodes(t, "fault.go"), faultCodes(t, "internal/header/fault.go"); !slices.Equal(d, want) || len(d) == 0 {
		t.Errorf("codes are %v, in package header %v", d, want)
	}
}

// faultCodes returns the names of the constants in a file. A single iota must number all of them.
func faultCodes(t *testing.T, file string) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
			for _, spec := range d.Specs {
				names = append(names, spec.(*ast.ValueSpec).Names[0].Name)
			}
		}
		return true
	})
	return names
}

// Every count of the engine reaches Stats under its name.
func TestStatsHaveAllCounts(t *testing.T) {
	var e engine.Stats
	n := int64(0)
	var fill func(reflect.Value)
	fill = func(v reflect.Value) {
		for i := range v.NumField() {
			n++
			switch f := v.Field(i); f.Kind() {
			case reflect.Struct:
				fill(f)
			case reflect.Uint64:
				f.SetUint(uint64(n))
			default:
				f.SetInt(n)
			}
		}
	}
	fill(reflect.ValueOf(&e).Elem())
	got := reflect.ValueOf(newStats(&e))
	for i := range reflect.TypeFor[engine.Stats]().NumField() {
		name := reflect.TypeFor[engine.Stats]().Field(i).Name
		if name == "Used" {
			continue // not a count: for Server alone
		}
		want := reflect.ValueOf(e).Field(i)
		if f := got.FieldByName(name); !f.IsValid() || !f.CanConvert(want.Type()) || !f.Convert(want.Type()).Equal(want) {
			t.Errorf("Stats.%s is %v, the engine counted %v", name, f, want)
		}
	}
}
