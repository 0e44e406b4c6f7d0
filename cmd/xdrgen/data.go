package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// dataFlags are those of the commands that read data by a unit's types. Of the
// files, those that end in .x are the unit and the other is the data.
type dataFlags struct {
	unitFlags            // of -type, the value without a = names the type of the data
	messageFlags         // which other values follow one of that type
	Hex          *string `name:"hex"`
	As           string  `name:"as" enum:"auto,raw,hex,base64" default:"auto"`
}

// typed is the type of the data, nil where -rpc alone says it, and the unit that
// it comes from.
type typed struct {
	name string // as it was asked for
	typ  *ir.Type
	unit *sema.Result
}

// split tells the unit's files from the data.
func (f *dataFlags) split() (unit []string, data string, err error) {
	for _, name := range f.Files {
		switch {
		case strings.HasSuffix(name, ".x"):
			unit = append(unit, name)
		case data != "":
			return nil, "", fmt.Errorf("two files of data, %s and %s: expected one, besides the FILE.x of its types", diag.Quote(data), diag.Quote(name))
		default:
			data = name
		}
	}
	switch {
	case len(unit) == 0:
		return nil, "", errors.New("no FILE.x that declares the type")
	case f.Hex != nil && data != "":
		return nil, "", fmt.Errorf("data both from -hex and from %s", diag.Quote(data))
	case f.Hex == nil && data == "":
		return nil, "", errors.New("no data: expected a file, - for standard input, or -hex STRING")
	}
	return unit, data, nil
}

// wanted tells the name of the data's type from the types that the files lack.
func (f *dataFlags) wanted() (name string, given []string, err error) {
	for _, t := range f.Type {
		switch {
		case strings.Contains(t, "="):
			given = append(given, t)
		case name != "":
			return "", nil, fmt.Errorf("-type %s and -type %s: expected one type of the data", name, t)
		default:
			name = t
		}
	}
	return name, given, nil
}

// unit says what to compile.
func (f *dataFlags) unit(given []string) (sema.Options, error) {
	in := f.inputFlags
	in.Type = given
	o, err := in.options()
	if err == nil {
		o.Files, _, err = f.split()
	}
	return o, err
}

// find compiles the unit and finds the type that -type names.
func (f *dataFlags) find(env environment) (typed, int) {
	name, given, err := f.wanted()
	if err == nil {
		err = f.check(name)
	}
	if err != nil {
		return typed{}, usage(env, err)
	}
	o, err := f.unit(given)
	if err != nil {
		return typed{}, usage(env, err)
	}
	r, err := sema.Compile(o)
	if err != nil {
		return typed{}, failed(env, err)
	}
	if diag.HasErrors(r.Diags) {
		if err := printErrors(env, onlyErrors(r.Diags), f.reportFlags); err != nil {
			return typed{}, failed(env, err)
		}
		return typed{}, exitFindings
	}
	names := dynamic.Names(r.Unit)
	if name == "" && f.RPC {
		return typed{unit: r}, exitClean
	}
	if name == "" {
		return typed{}, usage(env, fmt.Errorf("no -type: expected one of %s", some(names)))
	}
	t, err := dynamic.Find(r.Unit, name)
	if err != nil {
		return typed{}, usage(env, fmt.Errorf("-type %s: %w", name, withNames(err, name, names)))
	}
	return typed{name, t, r}, exitClean
}

// read returns the bytes of the data and what is their type: that of -type, or
// that of a message which begins with it.
func (f *dataFlags) read(env environment) (data []byte, t *ir.Type, name string, code int) {
	of, code := f.find(env)
	if code != exitClean {
		return nil, nil, "", code
	}
	if data, code = f.data(env); code != exitClean {
		return nil, nil, "", code
	}
	if !f.several() {
		return data, of.typ, of.name, exitClean
	}
	t, err := f.layout(of.typ, of.unit, data)
	if err != nil {
		return nil, nil, "", usage(env, err)
	}
	return data, t, t.Ref.Name, exitClean
}

// withNames adds to the error of a type that is not found what may be meant, and
// else which names there are.
func withNames(err error, name string, names []string) error {
	var e *dynamic.NotFound
	if !errors.As(err, &e) {
		return err
	}
	if near, ok := diag.Nearest(name, names); ok {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	if near, ok := diag.Nearest(e.Name, e.Names); ok {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	if len(e.Names) == 0 {
		return fmt.Errorf("%w, and there is no other", err)
	}
	return fmt.Errorf("%w; expected one of %s", err, some(e.Names))
}

// some returns a list of names that fits a line.
func some(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// input returns the data as it was given.
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
		err = fmt.Errorf("%s has more than %d bytes of data", name, source.MaxSize)
	}
	return data, err
}

// data returns the bytes that the input stands for. Which form it guessed, if
// it is not plain bytes, goes to stderr.
func (f *dataFlags) data(env environment) ([]byte, int) {
	in, err := f.input(env)
	if err != nil {
		return nil, failed(env, err)
	}
	form := f.As
	if form == "auto" {
		if form = guess(in); f.Hex != nil {
			form = "hex"
		} else if form != "raw" {
			fmt.Fprintf(env.stderr, "xdrgen: the data looks like %s and is read so; -as raw takes it as it is\n", form)
		}
	}
	out, err := unform(in, form)
	if err != nil {
		fmt.Fprintf(env.stderr, "xdrgen: the data is not %s: %v\n", form, err)
		return nil, exitFindings
	}
	return out, exitClean
}

// limits lets a tree have as many values as the data can hold, for data of
// usual shape: half a value a byte.
func limits(data []byte) dynamic.Limits {
	return dynamic.Limits{Values: max(1<<20, len(data)/2)}
}

// guess tells text that is hex or base64 from plain bytes: XDR that is not
// text itself nearly always has a zero byte.
func guess(in []byte) string {
	text := strings.TrimSpace(string(in))
	if text == "" || strings.IndexFunc(text, func(r rune) bool { return r > '~' || r < ' ' && !strings.ContainsRune("\t\r\n", r) }) >= 0 {
		return "raw"
	}
	for _, form := range []string{"hex", "base64"} {
		if out, err := unform(in, form); err == nil && len(out)%4 == 0 {
			return form
		}
	}
	return "raw"
}

// unform reads the text form of bytes. Hex may have blanks, colons, commas and
// 0x between its pairs of digits.
func unform(in []byte, form string) ([]byte, error) {
	switch form {
	case "hex":
		text := strings.NewReplacer("0x", "", "0X", "").Replace(string(in))
		text = strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\r\n:,", r) {
				return -1
			}
			return r
		}, text)
		return hex.DecodeString(text)
	case "base64":
		in = bytes.Join(bytes.Fields(in), nil)
		enc := base64.StdEncoding
		if bytes.ContainsAny(in, "-_") {
			enc = base64.URLEncoding
		}
		if len(in)%4 != 0 {
			enc = enc.WithPadding(base64.NoPadding)
		}
		return enc.DecodeString(string(in))
	}
	return in, nil
}
