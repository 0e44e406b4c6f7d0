package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/explain"
)

// explainCmd is the command "explain".
type explainCmd struct {
	List bool     `name:"list"`
	Code []string `arg:"" optional:"" name:"code"`
}

// run explains findings by their code or name, or lists all.
func (c *explainCmd) run(env environment) int {
	entries, err := explain.Entries()
	if err != nil {
		return failed(env, err)
	}
	switch {
	case c.List && len(c.Code) > 0:
		return usage(env, errors.New("-list and a code: expected one of the two"))
	case c.List:
		for _, e := range entries {
			fmt.Fprintf(env.stdout, "%s %-8s %-24s %s\n", e.Code, e.Severity, e.Name, e.Fix)
		}
		return exitClean
	case len(c.Code) == 0:
		return usage(env, errors.New("no code: expected one such as XDR0101, or its name, or -list"))
	}
	for i, word := range c.Code {
		e, ok := explain.Find(entries, word)
		if !ok {
			return usage(env, unknownCode(entries, word))
		}
		if i > 0 {
			fmt.Fprintln(env.stdout)
		}
		fmt.Fprint(env.stdout, e.Text())
	}
	return exitClean
}

func unknownCode(entries []explain.Entry, word string) error {
	var names []string
	for _, e := range entries {
		names = append(names, e.Code, e.Name)
	}
	for _, w := range []string{strings.ToUpper(word), strings.ToLower(word)} {
		if near, ok := diag.Nearest(w, names); ok {
			return fmt.Errorf("no code or name %s; did you mean %s?", diag.Quote(word), near)
		}
	}
	return fmt.Errorf("no code or name %s; xdrgen explain -list shows all", diag.Quote(word))
}
