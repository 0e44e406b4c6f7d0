package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/packets"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/form"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/message"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// dataFlags are the flags of dump and json, which decode data by the types of a unit.
// The files that end in .x, and documents with XDR, are the unit; the other one is the data.
type dataFlags struct {
	unitFlags            // the value of -type without "=" names the type of the data
	messageFlags         // the values that follow one of that type
	Hex          *string `name:"hex"`
	As           string  `name:"as" enum:"auto,raw,hex,base64" default:"auto"`
}

// dataType is the type of the data.
type dataType struct {
	name    string       // as given with -type; message for a message
	typ     *ir.Type     // nil without -type
	unit    *sema.Result // unit that declares it
	codes   *dynamic.Codes
	message *dynamic.Message // how to decode a message; nil if the data is a value of typ
}

// decode decodes data. If rest is set, bytes after the value are allowed.
func (t *dataType) decode(data []byte, rest bool) (*dynamic.Value, *dynamic.Error) {
	var root *dynamic.Value
	var err error
	switch l := message.Limits(data); {
	case t.message != nil && rest:
		root, err = t.message.Decode(data, l)
	case t.message != nil:
		root, err = t.message.DecodeAll(data, l)
	case rest:
		root, err = dynamic.Decode(data, t.typ, l)
	default:
		root, err = dynamic.DecodeAll(data, t.typ, l)
	}
	var fault *dynamic.Error
	errors.As(err, &fault)
	return root, fault
}

// split separates the files of the unit from the file of the data.
func (f *dataFlags) split() (unit []string, data string, err error) {
	for _, name := range f.Files {
		switch {
		case strings.HasSuffix(name, ".x") || isDocument(name):
			unit = append(unit, name)
		case data != "":
			return nil, "", fmt.Errorf("found two data files, %s and %s; expected one, and the .x files that declare its types", diag.Quote(data), diag.Quote(name))
		default:
			data = name
		}
	}
	switch {
	case len(unit) == 0:
		return nil, "", errors.New("no .x file and no document with XDR: name the one that declares the type")
	case f.Hex != nil && data != "":
		return nil, "", fmt.Errorf("found data in -hex and in %s; expected one of them", diag.Quote(data))
	case f.Hex == nil && data == "":
		return nil, "", errors.New("no data: expected a file, - for standard input, or -hex STRING")
	}
	return unit, data, nil
}

// wanted returns the name of the data's type, and the values of -type that declare
// types which the files lack.
func (f *dataFlags) wanted() (name string, given []string, err error) {
	for _, t := range f.Type {
		switch {
		case strings.Contains(t, "="):
			given = append(given, t)
		case name != "":
			return "", nil, fmt.Errorf("found -type %s and -type %s; the data has one type", name, t)
		default:
			name = t
		}
	}
	return name, given, nil
}

// unit returns the options to compile the unit with. given are the types that the
// files lack.
func (f *dataFlags) unit(given []string) (sema.Options, error) {
	in := f.inputFlags
	in.Type = given
	o, err := in.options()
	if err == nil {
		o.Files, _, err = f.split()
	}
	return o, err
}

// find compiles the unit and returns the type that -type names.
func (f *dataFlags) find(env environment) (dataType, int) {
	name, given, err := f.wanted()
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return dataType{}, usage(env, err)
	}
	o, err := f.unit(given)
	if err != nil {
		return dataType{}, usage(env, err)
	}
	r, err := f.compile(o)
	if err != nil {
		return dataType{}, notCompiled(env, err)
	}
	if diag.HasErrors(r.Diags) {
		if err := printErrors(env, onlyErrors(r.Diags), f.reportFlags); err != nil {
			return dataType{}, failed(env, err)
		}
		return dataType{}, exitFindings
	}
	names := dynamic.Names(r.Unit)
	codes := dynamic.NewCodes(message.Sidecars(r)...)
	if name == "" && f.several() {
		return dataType{unit: r, codes: codes}, exitClean
	}
	if name == "" {
		return dataType{}, usage(env, fmt.Errorf("-type is missing; the types are %s", some(names)))
	}
	t, err := dynamic.Find(r.Unit, name)
	if err != nil {
		return dataType{}, usage(env, fmt.Errorf("-type %s: %w", name, withNames(err, name, names)))
	}
	return dataType{name: name, typ: t, unit: r, codes: codes}, exitClean
}

// layout returns the type of the data: the type that -type names, or with -message or -rpc a
// message.
func (f *dataFlags) layout(env environment) (dataType, int) {
	of, code := f.find(env)
	if code != exitClean || !f.several() {
		return of, code
	}
	var err error
	if of.message, err = f.messageFlags.layout(of); err != nil {
		return of, usage(env, err)
	}
	of.name = "message"
	return of, exitClean
}

// withNames adds the nearest name to the error of a type that is not found, or the
// list of names if none is near.
func withNames(err error, name string, names []string) error {
	var e *dynamic.NotFound
	if !errors.As(err, &e) {
		return err
	}
	if near, ok := spelling.Nearest(name, names); ok {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	if near, ok := spelling.Nearest(e.Name, e.Names); ok {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	if len(e.Names) == 0 {
		return fmt.Errorf("%w, and the files declare no other", err)
	}
	return fmt.Errorf("%w; expected one of %s", err, some(e.Names))
}

// some returns the first few names, and how many more there are.
func some(names []string) string {
	const maxNames = 12
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}

// input returns the data as it was given, not yet decoded from hex or base64.
func (f *dataFlags) input(env environment) ([]byte, error) {
	if f.Hex != nil {
		return []byte(*f.Hex), nil
	}
	_, name, err := f.split()
	if err != nil {
		return nil, err
	}
	var r io.Reader = env.stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		r = file
	}
	if r == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(r, source.MaxSize+1))
	if err == nil && len(data) > source.MaxSize {
		err = fmt.Errorf("%s is too large: the limit is %d bytes", name, source.MaxSize)
	}
	return data, err
}

// data returns the input as bytes, decoded if it is hex or base64.
func (f *dataFlags) data(env environment) ([]byte, int) {
	in, err := f.input(env)
	if err != nil {
		return nil, failed(env, err)
	}
	if kind := packets.Kind(in); kind != "" && f.As == "auto" {
		_, name, _ := f.split()
		return nil, usage(env, fmt.Errorf("%s is a capture (%s), expected the bytes of a message; xdrgen dump %s FILE.x shows its calls; -as raw decodes the file itself", diag.Quote(name), kind, quoted(name)))
	}
	as := f.form(env, in)
	out, err := form.Decode(in, as)
	if err != nil {
		fmt.Fprintf(env.stderr, "xdrgen: the data is not valid %s: %v\n", as, err)
		return nil, exitFindings
	}
	return out, exitClean
}

// form returns the form of the input: the one that -as names, or the one that the sample looks
// like. If it guesses hex or base64, it says so on stderr.
func (f *dataFlags) form(env environment, sample []byte) string {
	switch {
	case f.As != "auto":
		return f.As
	case f.Hex != nil:
		return "hex"
	}
	as := form.Guess(sample)
	if as != "raw" {
		fmt.Fprintf(env.stderr, "xdrgen: the data looks like %s and is decoded as %s; use -as raw to prevent this\n", as, as)
	}
	return as
}
