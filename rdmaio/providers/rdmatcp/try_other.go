//go:build !unix

package rdmatcp

const canTry = false

type attempt struct{}

// try is never called: wire.raw is nil, and the writer does all writes.
func (w *wire) try([]byte) (int, error) { return 0, nil }

type arrival struct{}

// arrive is never called: wire.raw is nil, and the input buffer is never returned.
func (w *wire) arrive([]byte, int) (int, error) { return 0, nil }
