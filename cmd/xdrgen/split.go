package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/form"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/message"
)

// piece is one of the values in the input of dump.
type piece struct {
	data   []byte
	line   int // of the text, from 1; 0 if the input is not split into lines
	offset int // in the input

	root  *dynamic.Value
	inner []*dynamic.Error // faults in opaque data
	fault *dynamic.Error   // at which decoding stopped, or nil
}

// faults returns the faults of the value in order of offset.
func (p *piece) faults() []*dynamic.Error {
	if p.fault == nil {
		return p.inner
	}
	return append(p.inner[:len(p.inner):len(p.inner)], p.fault)
}

// decode decodes the value. If rest is set, bytes after it are allowed.
func (p *piece) decode(of dataType, rest bool) {
	p.root, p.fault = of.decode(p.data, rest)
	p.inner = of.codes.Annotate(p.root, p.data, message.Limits(p.data))
}

// pieces are the values in the input, not decoded yet.
type pieces struct {
	list []piece
	ends bool // each value ends where the next one begins, and list has one element for all
}

// pieces reads the input and divides it as -split says.
func (c *dumpCmd) pieces(env environment) (out pieces, code int) {
	if c.Split == "lines" {
		out.list, code = c.lines(env)
		return out, code
	}
	data, code := c.data(env)
	if code != exitClean {
		return out, code
	}
	out = pieces{[]piece{{data: data}}, c.Split == "ends"}
	if c.Split == "records" {
		var err error
		if out.list, err = records(data); err != nil {
			fmt.Fprintf(env.stderr, "xdrgen: -split records: %v\n", err)
			return out, exitFindings
		}
	}
	return out, exitClean
}

// lines returns the values in text that has one on each line. Empty lines are skipped.
func (c *dumpCmd) lines(env environment) (out []piece, code int) {
	in, err := c.input(env)
	if err != nil {
		return nil, failed(env, err)
	}
	as := ""
	for i, line := range strings.Split(string(in), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if as == "" {
			if as = c.form(env, []byte(line)); as == "raw" {
				return nil, usage(env, errors.New("-split lines: the data is raw; expected lines of hex or base64, see -as"))
			}
		}
		data, err := form.Decode([]byte(line), as)
		if err != nil {
			fmt.Fprintf(env.stderr, "xdrgen: line %d: the data is not valid %s: %v\n", i+1, as, err)
			return nil, exitFindings
		}
		out = append(out, piece{data: data, line: i + 1})
	}
	if len(out) == 0 {
		fmt.Fprintln(env.stderr, "xdrgen: -split lines: found no line with data")
		return nil, exitFindings
	}
	return out, exitClean
}

// records returns the values in data with record marking (RFC 5531 §11), and joins the fragments
// of each record. The offset of a value is the offset of its first record mark.
func records(data []byte) ([]piece, error) {
	const last = 1 << 31 // set in the mark of the last fragment
	var out []piece
	for off := 0; off < len(data); {
		p := piece{offset: off}
		for mark := uint32(0); mark&last == 0; {
			left := len(data) - off
			if left < 4 {
				return nil, fmt.Errorf("offset %d: found %d bytes, expected a record mark of 4 bytes (RFC 5531 §11)", off, left)
			}
			mark = binary.BigEndian.Uint32(data[off:])
			n := int64(mark &^ last)
			if int64(left-4) < n {
				return nil, fmt.Errorf("offset %d: the record mark announces a fragment of %d bytes, found %d (RFC 5531 §11)", off, n, left-4)
			}
			off += 4
			part := data[off : off+int(n) : off+int(n)]
			if off += int(n); p.data == nil {
				p.data = part
			} else {
				p.data = append(p.data, part...)
			}
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, errors.New("found no record in the input")
	}
	return out, nil
}

// values decodes the values one after the other.
func (in pieces) values(of dataType, rest bool) iter.Seq2[int, piece] {
	return func(yield func(int, piece) bool) {
		if in.ends {
			in.list[0].sequence(of, yield)
			return
		}
		for i, p := range in.list {
			p.decode(of, rest)
			if !yield(i, p) {
				return
			}
		}
	}
}

// sequence decodes values that follow each other, up to the first fault.
func (p piece) sequence(of dataType, yield func(int, piece) bool) {
	for i := 0; i == 0 || len(p.data) > 0; i++ {
		all := p.data
		p.decode(of, true)
		n := p.root.Length
		switch {
		case p.fault == nil && n == 0: // the next value would begin where this one does
			p.decode(of, false)
		case p.fault == nil:
			p.data = all[:n]
		}
		if !yield(i, p) || p.fault != nil {
			return
		}
		p.data, p.offset = all[n:], p.offset+n
	}
}
