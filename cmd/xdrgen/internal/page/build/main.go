// Command build makes the page for browsers: one file, index.html, which holds the compiler as
// WebAssembly and makes no requests. Two runs with the same Go write the same bytes.
//
//	go run ./cmd/xdrgen/internal/page/build -o bin/page
//
// [ADR 0229] has the reasons for the single file, and docs/browser.md describes the page.
//
// [ADR 0229]: https://github.com/rpcrdma/rpcrdma/blob/main/docs/adr/0229-a-page-in-the-browser.md
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("o", "", "folder for the page, which is made if it does not exist")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: go run ./cmd/xdrgen/internal/page/build -o FOLDER")
		os.Exit(2)
	}
	if err := run(context.Background(), *out, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n", err)
		os.Exit(1)
	}
}

// run writes the page to a folder, and prints its size.
func run(ctx context.Context, folder string, w io.Writer) error {
	engine, err := compile(ctx)
	if err != nil {
		return err
	}
	runtime, err := wasmExec(ctx)
	if err != nil {
		return err
	}
	text, err := assemble(engine, runtime)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	name := filepath.Join(folder, "index.html")
	if err := os.WriteFile(name, text, 0o666); err != nil {
		return err
	}
	packed, err := compress(text)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %d bytes, %d compressed; the compiler alone %d\n", filepath.ToSlash(name), len(text), len(packed), len(engine))
	return nil
}
