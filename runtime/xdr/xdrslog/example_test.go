package xdrslog_test

import (
	"log/slog"
	"os"

	"github.com/rpcrdma/rpcrdma/examples/notes/notes"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/xdrslog"
)

// A value is printed in JSON logs as it is printed in text.
func Example() {
	log := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return xdrslog.ReplaceAttr(groups, a)
		},
	}))
	log.Info("stored", "note", notes.Note{Name: notes.NoteName("hello"), Text: []byte("hi")})
	// Output: {"level":"INFO","msg":"stored","note":"note{name: \"hello\", text: 2 bytes 6869}"}
}
