package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/message"
)

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
		m.Prefix, err = message.Prefix(of.unit, of.name)
	} else {
		m.Header = of.typ
	}
	if f.RPC && err == nil {
		m.RPC, err = message.RPC()
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
