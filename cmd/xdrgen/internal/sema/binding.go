package sema

import "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"

func (c *compiler) loadBind(u *unit, files []string) { u.bind = &ir.Bind{} }
func (c *compiler) resolveBind(u *unit)              {}
