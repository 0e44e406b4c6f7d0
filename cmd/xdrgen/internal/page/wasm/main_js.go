// Command wasm answers the requests of the page: its function xdrgen of the global object takes a
// request and returns the answer, each as JSON. It does not end.
package main

import (
	"runtime/debug"
	"syscall/js"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/page"
)

// gcPercent makes garbage collection rare: a run is short, and then its worker waits.
const gcPercent = 400

func main() {
	debug.SetGCPercent(gcPercent)
	var s page.Session
	js.Global().Set("xdrgen", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(s.Do([]byte(args[0].String())))
	}))
	select {}
}
