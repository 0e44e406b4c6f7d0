package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
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
	Message bool   `name:"message"`
	RPC     bool   `name:"rpc"`
	Proc    string `name:"proc"`
}

// check returns an error if a flag lacks another one that it needs.
func (f *messageFlags) check() error {
	if f.Proc != "" && !f.RPC {
		return errors.New("-proc needs -rpc: it names the procedure that an RPC reply answers")
	}
	return nil
}

// several reports whether the data is a message of several values.
func (f *messageFlags) several() bool { return f.Message || f.RPC }

// layout returns how to decode a message of the unit. The parameter of is the type that the message
// begins with. With -message, of names the prefix, or is empty.
func (f *messageFlags) layout(of dataType) (*dynamic.Message, error) {
	m := &dynamic.Message{Codes: of.codes}
	var err error
	if f.Message {
		m.Prefix, err = prefix(of.unit, of.name)
	} else {
		m.Header = of.typ
	}
	if f.RPC && err == nil {
		m.RPC, err = rpcMessage()
		m.Programs = dynamic.Programs(of.unit.Unit)
		if err == nil {
			err = dynamic.SharedPrograms(of.unit.Unit)
		}
	}
	if err != nil {
		return nil, err
	}
	if f.Proc != "" {
		name := strings.TrimSuffix(f.Proc, ".result") + ".result"
		if m.Result, err = dynamic.Find(of.unit.Unit, name); err != nil {
			return nil, fmt.Errorf("-proc %s: %w", f.Proc, withNames(err, name, dynamic.Names(of.unit.Unit)))
		}
	}
	return m, nil
}

// prefix returns the message statement about the struct with a name in a unit or in the units
// that it imports. If the name is empty, there must be only one statement.
func prefix(r *sema.Result, name string) (*ir.Message, error) {
	var names []string
	var found *ir.Message
	for _, b := range sidecars(r) {
		for i := range b.Messages {
			if m := &b.Messages[i]; name == "" || m.Struct == name {
				found = m
			}
			names = append(names, b.Messages[i].Struct)
		}
	}
	switch {
	case len(names) == 0:
		return nil, errors.New("-message: no sidecar of the unit has a message line, which names the struct that messages begin with; see xdrgen help sidecar")
	case name == "" && len(names) > 1:
		return nil, fmt.Errorf("-message: messages begin with %s; choose one with -type", strings.Join(names, " or "))
	case found == nil:
		return nil, fmt.Errorf("-message: found -type %s, expected a struct that messages begin with: %s", name, strings.Join(names, " or "))
	}
	return found, nil
}

// sidecars returns the sidecars of a unit and the units that it imports.
func sidecars(r *sema.Result) []*ir.Bind {
	out := []*ir.Bind{r.Bind}
	for _, i := range r.Unit.Imports {
		if i.Bind != nil {
			out = append(out, i.Bind)
		}
	}
	return out
}
