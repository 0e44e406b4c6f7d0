package main

import (
	"errors"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/document"
	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// documentFlags choose the XDR of a document.
type documentFlags struct {
	File    string `name:"file"`
	Section string `name:"section"`
}

// compile compiles a unit whose files may be documents.
func (f documentFlags) compile(o sema.Options) (*sema.Result, error) {
	return document.Choice(f).Compile(o)
}

// notCompiled reports the error of a compilation, and returns its exit code.
func notCompiled(env environment, err error) int {
	if c := (document.ChoiceError{}); errors.As(err, &c) {
		return usage(env, err)
	}
	return failed(env, err)
}

// isDocument reports whether a file on disk is a document.
func isDocument(name string) bool {
	disk := sema.Disk{}
	if strings.HasSuffix(name, ".x") || name == "-" || disk.Regular(name, source.MaxSize) != nil {
		return false
	}
	text, err := disk.ReadFile(name)
	return err == nil && xdrdoc.IsDocument(text)
}
