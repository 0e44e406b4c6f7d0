//go:build !unix

package tcp

import "errors"

// socketReads says that readSocket does not work: sockets are read as other streams are.
const socketReads = false

func readSocket(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
