package gostubs

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// client writes the type that calls the procedures of the version.
func (x *stub) client() *jen.File {
	file := x.imports.Piece()
	file.Commentf("// %s calls %s.\n// Its methods may be called concurrently. Their errors are of type *rpc.Error.", x.called.Client, x.title())
	file.Type().Id(x.called.Client).Struct(jen.Id("rpc").Op("*").Qual(rpcPath, "Client"))
	file.Commentf("// %s returns a client over a carrier, which it does not close. cfg may be nil.", x.called.NewClient)
	file.Func().Id(x.called.NewClient).Params(
		jen.Id("over").Qual(oncrpcPath, "Carrier"), jen.Id("cfg").Op("*").Qual(rpcPath, "ClientConfig"),
	).Op("*").Id(x.called.Client).Block(
		jen.Return(jen.Op("&").Id(x.called.Client).Values(jen.Qual(rpcPath, "NewClient").Call(jen.Id("over"), jen.Id(x.called.Program).Call(), jen.Id("cfg")))))
	for _, p := range x.vers.Procs {
		x.call(file, p)
		if x.async {
			x.submit(file, p)
		}
	}
	return file
}

// call writes the methods of the client for a procedure: one that returns the result, and one that
// decodes it into the caller's memory.
func (x *stub) call(file *jen.File, p *ir.Proc) {
	args, res := x.value(p.Call), x.value(p.Reply)
	name := x.methods[p]
	params := []jen.Code{jen.Id("ctx").Qual("context", "Context")}
	forward := []jen.Code{jen.Id("ctx")}
	if !args.void {
		params = append(params, jen.Id("args").Add(args.passed()))
		forward = append(forward, jen.Id("args"))
	}
	method := func(name string, params ...jen.Code) *jen.Statement {
		return file.Func().Params(jen.Id("c").Op("*").Id(x.called.Client)).Id(name).Params(params...)
	}
	file.Add(procDoc(name+" calls procedure "+p.Name+".", p))
	if res.void {
		method(name, params...).Error().Block(jen.Return(x.invoke(p, args, jen.Nil(), jen.Nil())))
		return
	}
	into := jen.Id("c").Dot(name + "Into").Call(append(forward, jen.Op("&").Id("res"), jen.Nil())...)
	if res.small {
		method(name, params...).Params(jen.Id("res").Add(res.typ()), jen.Err().Error()).Block(
			jen.Err().Op("=").Add(into), jen.Return())
	} else {
		method(name, params...).Params(res.passed(), jen.Error()).Block(
			jen.Var().Id("res").Add(res.typ()),
			jen.If(jen.Err().Op(":=").Add(into), jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err())),
			jen.Return(jen.Op("&").Id("res"), jen.Nil()))
	}
	file.Commentf("// %sInto is %s with the caller's memory for the result. opt may be nil.", name, name)
	file.Comment("// Memory for long data is Options.Results: slices that res has are replaced.")
	target := jen.Id("res")
	if res.boxed {
		target = jen.Parens(jen.Op("*").Add(res.box())).Call(jen.Id("res"))
	}
	method(name+"Into", append(params, jen.Id("res").Op("*").Add(res.typ()), jen.Id("opt").Op("*").Qual(rpcPath, "Options"))...).Error().BlockFunc(func(body *jen.Group) {
		if len(p.Limit) == 0 {
			body.Return(x.invoke(p, args, target, jen.Id("opt")))
			return
		}
		if !args.small {
			// Call returns the error for a nil pointer.
			body.If(jen.Id("args").Op("==").Nil()).Block(jen.Return(x.invoke(p, args, target, jen.Id("opt"))))
		}
		body.Return(x.invoke(p, args, target, jen.Id("opt"), x.atMost(p, args, jen.Id("args"))))
	})
}

// submit writes the method of the client that begins a call of a procedure, with the caller's
// memory for argument and result.
func (x *stub) submit(file *jen.File, p *ir.Proc) {
	args, res := x.value(p.Call), x.value(p.Reply)
	name := x.methods[p]
	params := []jen.Code{jen.Id("ctx").Qual("context", "Context")}
	pass := func(name string, v stubValue) *jen.Statement {
		switch {
		case v.void:
			return jen.Nil()
		case v.boxed:
			return jen.Parens(jen.Op("*").Add(v.box())).Call(jen.Id(name))
		}
		return jen.Id(name)
	}
	for _, v := range []struct {
		name string
		stubValue
	}{{"args", args}, {"res", res}} {
		if !v.void {
			params = append(params, jen.Id(v.name).Op("*").Add(v.typ()))
		}
	}
	params = append(params, jen.Id("opt").Op("*").Qual(rpcPath, "Options"), jen.Id("done").Func().Params(jen.Error()))
	file.Commentf("// %sSubmit begins %s and does not wait for it: see [rpc.Client.Submit]. All memory belongs\n// to the client until done runs. opt may be nil.", name, name)
	submit := func(method string, most ...jen.Code) *jen.Statement {
		with := []jen.Code{jen.Id("ctx"), x.types(x.names.Proc(p)), pass("args", args), pass("res", res), jen.Id("opt")}
		return jen.Return(jen.Id("c").Dot("rpc").Dot(method).Call(append(append(with, most...), jen.Id("done"))...))
	}
	file.Func().Params(jen.Id("c").Op("*").Id(x.called.Client)).Id(name + "Submit").Params(params...).Error().BlockFunc(func(body *jen.Group) {
		if len(p.Limit) == 0 {
			body.Add(submit("Submit"))
			return
		}
		// Submit returns the error for a nil pointer.
		body.If(jen.Id("args").Op("==").Nil()).Block(submit("Submit"))
		number := jen.Id("args")
		if args.boxed {
			number = jen.Op("*").Id("args")
		}
		body.Add(submit("SubmitAtMost", x.atMost(p, args, number)))
	})
}

// invoke is the call of a procedure by package rpc. most is the largest size of the results, if an
// argument bounds it.
func (x *stub) invoke(p *ir.Proc, args stubValue, res, opt jen.Code, most ...jen.Code) *jen.Statement {
	in := jen.Id("args")
	switch {
	case args.void:
		in = jen.Nil()
	case args.boxed:
		in = jen.Parens(jen.Op("*").Add(args.box())).Call(jen.Op("&").Id("args"))
	case args.small:
		in = jen.Op("&").Id("args")
	}
	method := "Call"
	if len(most) > 0 {
		method = "CallAtMost"
	}
	return jen.Id("c").Dot("rpc").Dot(method).Call(append([]jen.Code{jen.Id("ctx"), x.types(x.names.Proc(p)), in, res, opt}, most...)...)
}

// padding is the most that data of a given size gets (RFC 4506 §3).
const padding = 3

// atMost is the largest size of the results, as far as the arguments tell it.
func (x *stub) atMost(p *ir.Proc, args stubValue, number *jen.Statement) *jen.Statement {
	if !args.boxed {
		for _, f := range p.Limit {
			number = number.Dot(x.names.Field(f))
		}
	}
	return jen.Uint64().Call(number).Op("+").Lit(int(plan.WithoutUnbounded(p.Reply) + padding))
}
