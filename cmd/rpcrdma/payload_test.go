package main

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// FuzzArguments checks that arguments with items out of line are those without, put together again
// (RFC 8166 §3.4.4), for an opaque item of NFSv3 and for one of the notes.
func FuzzArguments(f *testing.F) {
	type target struct {
		proc *dynamic.Procedure
		unit *sema.Result
	}
	var targets []target
	for _, names := range [][2]string{{"../../spec/x/nfs3/nfs3.x", "NFS_PROGRAM.NFS_V3.NFSPROC3_WRITE"}, {notesFile, "NOTES.NOTES_V1.NOTES_PUT"}} {
		r, err := sema.Compile(sema.Options{Files: []string{names[0]}})
		if err != nil {
			f.Fatal(err)
		}
		p, err := dynamic.FindProcedure(r.Unit, names[1])
		if err != nil {
			f.Fatal(err)
		}
		targets = append(targets, target{p, r})
	}
	f.Add(byte(0), []byte(`{"file":{"data":"00"},"offset":"0","count":3,"stable":"UNSTABLE","data":"616263"}`))
	f.Add(byte(1), []byte(`{"name":"a","text":{"text":"some text"}}`))
	f.Add(byte(1), []byte(`{"name":"","text":""}`))
	f.Fuzz(func(t *testing.T, which byte, text []byte) {
		to := targets[int(which)%len(targets)]
		eligible := bindings(to.unit)
		a, err := parseArguments(to.proc, eligible, text)
		if err != nil {
			return
		}
		if len(a.items) != 1 {
			t.Fatalf("%s: %d items", text, len(a.items))
		}
		p := program(to.proc, eligible)
		var e xdr.Encoder
		e.Reduce(xdr.Reduction{Sites: p.Sites(to.proc.Proc.Number, false)}, 0)
		if err := a.EncodeXDR(&e); err != nil {
			t.Fatal(err)
		}
		if out := a.items[0].End > a.items[0].Start; out != (len(e.Items()) == 1) {
			t.Errorf("%s: %d items out of line", text, len(e.Items()))
		}
		m := oncrpc.Message{Inline: e.Bytes(), Items: e.Items()}
		if got := bytes.Join(m.Gather(nil, nil), nil); !bytes.Equal(got, a.body) {
			t.Errorf("%s: %x, expected %x", text, got, a.body)
		}
	})
}
