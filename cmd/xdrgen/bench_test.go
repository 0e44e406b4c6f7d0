package main

import (
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
	"github.com/rpcrdma/rpcrdma/internal/corpus"
)

// BenchmarkCompile compiles a file as large as RFC 1813's XDR, with formatting of the Go code, and
// measures each stage on its own.
func BenchmarkCompile(b *testing.B) {
	file := filepath.Join(corpus.Dir(b), "x", "nfs-ganesha", "nfs23.x")
	o := sema.Options{Files: []string{file}}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			r, err := sema.Compile(o)
			if err != nil || r.Unit == nil {
				b.Fatal(err)
			}
			if _, _, err := gogen.Generate(r.Unit, r.Bind, gogen.Options{Package: "nfs"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plan", func(b *testing.B) {
		r, err := sema.Compile(o)
		if err != nil || r.Unit == nil {
			b.Fatal(err)
		}
		for b.Loop() {
			plan.Make(r.Unit, r.Bind)
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			if r, err := sema.Compile(o); err != nil || r.Unit == nil {
				b.Fatal(err)
			}
		}
	})
}
