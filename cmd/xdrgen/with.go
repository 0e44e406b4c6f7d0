package main

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// checkWith removes blanks around the values of -with, and checks them. Its error is a usage error.
func checkWith(words []string) error {
	for i, w := range words {
		w = strings.TrimSpace(w)
		words[i] = w
		if w == "" {
			return fmt.Errorf("-with: a name is missing before or after a comma: %s are the names", strings.Join(ir.MethodWords(), ", "))
		}
		if new(ir.Methods).Apply(w) {
			continue
		}
		all := ir.MethodWords()
		if near, ok := spelling.Nearest(w, all); ok {
			return fmt.Errorf("-with: %s is not an optional method; did you mean %s?", diag.Quote(w), near)
		}
		return fmt.Errorf("-with: %s is not an optional method: use one of %s", diag.Quote(w), strings.Join(all, ", "))
	}
	return nil
}
