package gostubs

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// server writes the interface that serves the procedures of the version, and the function that
// makes a service of it.
func (x *stub) server() *jen.File {
	file := x.imports.Piece()
	var methods, handles, marked []jen.Code
	for _, p := range x.vers.Procs {
		if p.Number == 0 && p.Call == nil && p.Reply == nil {
			continue // package rpc answers it
		}
		if p.NonBlocking {
			marked = append(marked, x.types(x.names.Proc(p)))
		}
		methods = append(methods, procDoc(x.methods[p]+" serves procedure "+p.Name+".", p), x.method(p))
		handles = append(handles, x.handle(p))
	}
	file.Commentf("// %s serves %s.\n"+
		"// A method sets res or returns an error. [rpc.Unimplemented] refuses the call with PROC_UNAVAIL.\n"+
		"// The memory of args is reused when a method has returned, so it copies what it keeps.\n"+
		"// [rpc.Handle] describes errors and concurrency, and how long r and res are valid.", x.called.Server, x.title())
	file.Type().Id(x.called.Server).Interface(methods...)
	file.Commentf("// %s returns a service whose procedures are the methods of s.", x.called.NewService)
	body := append([]jen.Code{jen.Id("service").Op(":=").Qual(rpcPath, "NewService").Call(jen.Id(x.called.Program).Call())}, handles...)
	if len(marked) > 0 {
		body = append(body, jen.Id("service").Dot("NonBlocking").Call(marked...))
	}
	file.Func().Id(x.called.NewService).Params(jen.Id("s").Id(x.called.Server)).Op("*").Qual(rpcPath, "Service").Block(
		append(body, jen.Return(jen.Id("service")))...)
	return file
}

// method is the method of the interface for a procedure.
func (x *stub) method(p *ir.Proc) *jen.Statement {
	params := []jen.Code{jen.Id("r").Op("*").Qual(rpcPath, "Request")}
	if args := x.value(p.Call); !args.void {
		params = append(params, jen.Id("args").Add(args.served()))
	}
	if res := x.value(p.Reply); !res.void {
		params = append(params, jen.Id("res").Op("*").Add(res.typ()))
	}
	return jen.Id(x.methods[p]).Params(params...).Error()
}

// served is the type of the argument at the server. A number is passed by value, all else by
// pointer to memory of the call.
func (v stubValue) served() *jen.Statement {
	if v.boxed {
		return v.typ()
	}
	return jen.Op("*").Add(v.typ())
}

// handle registers a procedure.
func (x *stub) handle(p *ir.Proc) *jen.Statement {
	args, res := x.value(p.Call), x.value(p.Reply)
	serve := jen.Id("s").Dot(x.methods[p])
	if args.void || args.boxed || res.void || res.boxed {
		pass := []jen.Code{jen.Id("r")}
		if args.boxed {
			pass = append(pass, args.typ().Call(jen.Op("*").Id("args")))
		} else if !args.void {
			pass = append(pass, jen.Id("args"))
		}
		if res.boxed {
			pass = append(pass, jen.Parens(jen.Op("*").Add(res.typ())).Call(jen.Id("res")))
		} else if !res.void {
			pass = append(pass, jen.Id("res"))
		}
		serve = jen.Func().Params(
			jen.Id("r").Op("*").Qual(rpcPath, "Request"), jen.Id(unused("args", args)).Op("*").Add(args.box()), jen.Id(unused("res", res)).Op("*").Add(res.box()),
		).Error().Block(jen.Return(serve.Call(pass...)))
	}
	return jen.Qual(rpcPath, "Handle").Call(jen.Id("service"), x.types(x.names.Proc(p)), serve)
}

// unused is the name of a parameter, or a blank for void.
func unused(name string, v stubValue) string {
	if v.void {
		return "_"
	}
	return name
}
