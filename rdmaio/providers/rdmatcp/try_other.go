//go:build !unix

package rdmatcp

const canTry = false

type attempt struct{}

// try is never called: without it all writes are the writer's.
func (w *wire) try([]byte) (int, error) { return 0, nil }

type arrival struct{}

// arrive is never called: without raw the input is always there.
func (w *wire) arrive([]byte, int) (int, error) { return 0, nil }
