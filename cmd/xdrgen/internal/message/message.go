// Package message finds the parts of messages that consist of several values: the RPC message of
// RFC 5531, and the prefixes that sidecars declare.
package message

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

// RPC returns the type rpc_msg: an RPC message without the arguments or results
// after it.
func RPC() (*ir.Type, error) {
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

// Prefix returns the message statement about the struct with a name in a unit or in the units
// that it imports. If the name is empty, there must be only one statement.
func Prefix(r *sema.Result, name string) (*ir.Message, error) {
	var names []string
	var found *ir.Message
	for _, b := range Sidecars(r) {
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

// Sidecars returns the sidecars of a unit and the units that it imports.
func Sidecars(r *sema.Result) []*ir.Bind {
	out := []*ir.Bind{r.Bind}
	for _, i := range r.Unit.Imports {
		if i.Bind != nil {
			out = append(out, i.Bind)
		}
	}
	return out
}

// Limits returns limits that suffice to decode data of the usual shape, which has at least two
// bytes for each value.
func Limits(data []byte) dynamic.Limits {
	return dynamic.Limits{Values: max(1<<20, len(data)/2)}
}
