package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/message"
)

// jsonCmd is the command "json".
type jsonCmd struct {
	dataFlags
	Encode  bool `name:"encode"`
	Bare    bool `name:"bare"`
	Compact bool `name:"compact"`
}

// jsonKey is the member of the JSON object that holds the value. With -bare there is no
// such object.
const jsonKey = "value"

// run converts XDR to JSON, or JSON to XDR.
func (c *jsonCmd) run(env environment) int {
	if c.Encode && c.Hex != nil {
		return usage(env, errors.New("-encode reads JSON, and -hex gives XDR: name a JSON file, or - for standard input"))
	}
	if c.Encode && c.several() {
		return usage(env, errors.New("-encode writes one value of -type: leave out -message and -rpc"))
	}
	if c.Encode {
		of, code := c.find(env)
		if code != exitClean {
			return code
		}
		return c.encode(env, of.typ, of.name)
	}
	of, code := c.layout(env)
	if code != exitClean {
		return code
	}
	data, code := c.data(env)
	if code != exitClean {
		return code
	}
	root, fault := of.decode(data, false)
	if fault != nil {
		printFault(env, fault, of.name)
		if json.Valid(data) {
			fmt.Fprintln(env.stderr, "  = help: the data is JSON: xdrgen json -encode converts it to XDR")
		}
		return exitFindings
	}
	out, err := c.wrap(of.name, dynamic.PrintableJSON(root))
	if err == nil {
		_, err = env.stdout.Write(out)
	}
	if err != nil {
		return failed(env, err)
	}
	return exitClean
}

// wrap returns the JSON to print: the value in an object that names its type, or with
// -bare the value alone.
func (c *jsonCmd) wrap(name string, value []byte) ([]byte, error) {
	if !c.Bare {
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value = fmt.Appendf(nil, `{"v":1,"type":"value","xdr_type":%s,"%s":%s}`, quoted, jsonKey, value)
	}
	if c.Compact {
		return append(value, '\n'), nil
	}
	var out bytes.Buffer
	if err := json.Indent(&out, value, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// encode converts JSON to the XDR of type t.
func (c *jsonCmd) encode(env environment, t *ir.Type, name string) int {
	text, err := c.input(env)
	if err != nil {
		return failed(env, err)
	}
	key := jsonKey
	if c.Bare {
		key = ""
	}
	root, err := dynamic.ParseJSON(text, t, key, message.Limits(text))
	var out []byte
	if err == nil {
		out, err = dynamic.Encode(root)
	}
	var fault *dynamic.Error
	if errors.As(err, &fault) {
		p := source.NewFile("", text).Position(fault.Offset)
		fault.Message = fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, fault.Message)
		printFault(env, fault, name)
		return exitFindings
	}
	if _, err := env.stdout.Write(formed(out, c.As, env.terminal(env.stdout))); err != nil {
		return failed(env, err)
	}
	return exitClean
}

// formed returns data in the form that -as names. auto is hex on a terminal, else raw.
func formed(data []byte, as string, terminal bool) []byte {
	switch {
	case as == "base64":
		return append(base64.StdEncoding.AppendEncode(nil, data), '\n')
	case as == "hex", as == "auto" && terminal:
		return append(hex.AppendEncode(nil, data), '\n')
	}
	return data
}
