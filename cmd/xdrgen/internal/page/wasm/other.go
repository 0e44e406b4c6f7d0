//go:build !js

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "wasm: this command runs in a browser: go run ./cmd/xdrgen/internal/page/build -o FOLDER makes the page")
	os.Exit(2)
}
