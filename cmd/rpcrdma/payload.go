package main

import (
	"bytes"
	"errors"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/codec"
)

// arguments are encoded arguments, with the items that may travel by direct data placement. They
// are an xdr.Value, so that package rpc calls with them as with generated types.
type arguments struct {
	body  []byte
	items []dynamic.Item
}

// parseArguments returns the arguments of a procedure in JSON. The error is a *dynamic.Error whose
// offset is one in the text.
func parseArguments(p *dynamic.Procedure, eligible []ir.DDPBinding, text []byte) (*arguments, error) {
	limits := dynamic.Limits{Values: max(1<<20, len(text)/2)}
	v, err := dynamic.ParseJSON(text, p.Args(), "", limits)
	if err != nil {
		return nil, err
	}
	a := &arguments{}
	if a.body, err = dynamic.Encode(v); err != nil {
		return nil, err
	}
	if v, err = dynamic.DecodeAll(a.body, p.Args(), limits); err != nil {
		return nil, err
	}
	a.items = p.Items(v, eligible)
	return a, nil
}

// EncodeXDR implements xdr.Value.
func (a *arguments) EncodeXDR(e *xdr.Encoder) error {
	put := func(b []byte) error {
		to, err := e.Next(len(b))
		copy(to, b)
		return err
	}
	at := 0
	for _, it := range a.items {
		data, s := a.body[it.Start:it.End], site(it.Owner, it.Field)
		if !codec.Reduces(e, s, len(data)) {
			continue
		}
		if err := put(a.body[at:it.Start]); err != nil {
			return err
		}
		codec.LeaveOut(e, s, e.Off, data) // RFC 8166 §3.4.4: the count stays, the padding goes
		at = it.Start + xdr.Padded(len(data))
	}
	return put(a.body[at:])
}

// DecodeXDR implements xdr.Value.
func (*arguments) DecodeXDR(*xdr.Decoder) error { return errors.ErrUnsupported }

// XDRSize implements xdr.Value.
func (a *arguments) XDRSize() int { return len(a.body) }

// resultBytes are encoded results.
type resultBytes struct{ body []byte }

// newResults returns memory for the results of a procedure. Package rpc asks some of them for
// their largest size.
func newResults(p *dynamic.Procedure) (xdr.Value, *resultBytes) {
	r := &resultBytes{}
	if size := p.Result().Size; p.Proc.Result == nil || !size.Unbounded && size.Max <= 1<<30 {
		return &boundedResults{r, int(size.Max)}, r
	}
	return r, r
}

// EncodeXDR implements xdr.Value.
func (*resultBytes) EncodeXDR(*xdr.Encoder) error { return errors.ErrUnsupported }

// DecodeXDR implements xdr.Value. It takes all that is left.
func (r *resultBytes) DecodeXDR(d *xdr.Decoder) error {
	b, err := d.Next(len(d.Rest()))
	r.body = bytes.Clone(b)
	return err
}

// XDRSize implements xdr.Value.
func (r *resultBytes) XDRSize() int { return len(r.body) }

// boundedResults are results whose type has a largest size.
type boundedResults struct {
	*resultBytes
	most int
}

// XDRMaxSize returns the largest size in bytes.
func (r *boundedResults) XDRMaxSize() int { return r.most }

// program returns the program of a procedure, for package rpc.
func program(p *dynamic.Procedure, eligible []ir.DDPBinding) oncrpc.Program {
	out := oncrpc.Program{
		Number: p.Program.Program.Number, Version: p.Version.Number,
		Name: p.Version.Name, Procedures: map[uint32]string{p.Proc.Number: p.Proc.Name},
	}
	for _, b := range eligible {
		if !b.Reply {
			out.Bindings = append(out.Bindings, xdr.Binding{
				Program: b.Prog, Version: b.Vers, Procedure: b.Number, Site: site(b.Owner.Name, b.Field.Name),
			})
		}
	}
	return out
}

func site(owner, field string) xdr.Site { return xdr.Site(owner + "." + field) }
