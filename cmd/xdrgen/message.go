package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
)

// rpcUnit declares the RPC message of RFC 5531 §9: a copy of spec/x/oncrpc.
//
//go:embed oncrpc
var rpcUnit embed.FS

// rpcMessage returns the type rpc_msg: an RPC message without the arguments or results
// after it.
func rpcMessage() (*ir.Type, error) {
	r, err := sema.Compile(sema.Options{Files: []string{"oncrpc/oncrpc.x"}, FS: embedded{}})
	if err != nil {
		return nil, err
	}
	return dynamic.Find(r.Unit, "rpc_msg")
}

// embedded is rpcUnit as a file system with the path separators of the system.
type embedded struct{}

func (embedded) ReadFile(name string) ([]byte, error) {
	return rpcUnit.ReadFile(filepath.ToSlash(name))
}

func (embedded) ReadDir(name string) ([]os.DirEntry, error) {
	return rpcUnit.ReadDir(filepath.ToSlash(name))
}

// messageFlags are the flags for data that is a message of several values.
type messageFlags struct {
	Body string `name:"body"`
	RPC  bool   `name:"rpc"`
	Proc string `name:"proc"`
}

// check returns an error if a flag lacks another one that it needs. typ is the value of
// -type.
func (f *messageFlags) check(typ string) error {
	switch {
	case f.Body != "" && typ == "":
		return errors.New("-body needs -type, whose field it names")
	case f.Proc != "" && !f.RPC:
		return errors.New("-proc needs -rpc: it names the procedure that an RPC reply answers")
	}
	return nil
}

// several reports whether the data is a message of several values.
func (f *messageFlags) several() bool { return f.Body != "" || f.RPC }

// layout returns the type of the message in data: header, which may be nil, and the values
// after it.
func (f *messageFlags) layout(header *ir.Type, r *sema.Result, data []byte) (*ir.Type, error) {
	m := dynamic.Message{Header: header, Path: f.Body, Codes: headerCodes(r)}
	if f.Body != "" && len(m.Codes) == 0 {
		return nil, errors.New("-body: the sidecar has no \"code header-type\" lines, which give the body type for each number")
	}
	if f.RPC {
		var err error
		if m.RPC, err = rpcMessage(); err != nil {
			return nil, err
		}
		m.Programs = dynamic.Programs(r.Unit)
	}
	if f.Proc != "" {
		name := strings.TrimSuffix(f.Proc, ".result") + ".result"
		var err error
		if m.Result, err = dynamic.Find(r.Unit, name); err != nil {
			return nil, fmt.Errorf("-proc %s: %w", f.Proc, withNames(err, name, dynamic.Names(r.Unit)))
		}
	}
	t, err := m.Type(data, limits(data))
	if err != nil {
		return nil, fmt.Errorf("-body: %w", err)
	}
	return t, nil
}

// headerCodes returns the code points of header types in a unit and in the units that it
// imports.
func headerCodes(r *sema.Result) []ir.CodePoint {
	all := r.Bind.Codes
	for _, i := range r.Unit.Imports {
		if i.Bind != nil {
			all = append(all[:len(all):len(all)], i.Bind.Codes...)
		}
	}
	var out []ir.CodePoint
	for _, c := range all {
		if c.Space == dynamic.HeaderType {
			out = append(out, c)
		}
	}
	return out
}
