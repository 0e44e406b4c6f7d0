package rdmaio

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// rejection is the reason of a server for rejecting a connection. The private data of the rejection
// carries it to a client of this package. No document defines private data there. Other clients
// ignore it, because the rejection itself says that there is no connection.
//
// The private data is "RPCR", the number 1 of this format, the reason, and two zero bytes. A device
// may add zeros (verbs.DeviceAttributes.PaddedPrivateData). It cannot be mistaken for the message
// of RFC 8797 §4, which begins with another number.
type rejection uint8

const (
	rejectedOther  rejection = iota // the private data is empty
	rejectedFull                    // Config.MaxConns
	rejectedNoRoom                  // the server's device has not enough of something
	rejectedSource                  // Config.MaxPerSource
)

// rejectionFormat is the beginning of the private data.
var rejectionFormat = []byte{'R', 'P', 'C', 'R', 1}

// rejectionSize is the size of the private data in bytes.
const rejectionSize = 8

// privateData returns the private data of a rejection, for at most this many bytes.
func (r rejection) privateData(most int) []byte {
	if r == rejectedOther || most < rejectionSize {
		return nil
	}
	b := make([]byte, rejectionSize)
	b[copy(b, rejectionFormat)] = byte(r)
	return b
}

// parseRejection returns the reason in the private data of a rejection. The data is untrusted, and
// usually does not come from this package.
func parseRejection(b []byte) rejection {
	rest, ok := bytes.CutPrefix(b, rejectionFormat)
	if !ok || len(b) < rejectionSize || len(bytes.Trim(rest[1:], "\x00")) > 0 {
		return rejectedOther
	}
	return rejection(rest[0])
}

// explainRejection adds the server's reason to an error of Dial, if the server has given one.
func explainRejection(err error) error {
	var rejected *verbs.RejectedError
	if !errors.As(err, &rejected) {
		return err
	}
	switch parseRejection(rejected.PrivateData) {
	case rejectedFull:
		return fmt.Errorf("%w: it has as many connections as its Config.MaxConns allows: close some, or raise the limit there: %w", ErrServerFull, err)
	case rejectedSource:
		return fmt.Errorf("%w: it has as many connections from this address as its Config.MaxPerSource allows: close some, or raise the limit there: %w", ErrServerFull, err)
	case rejectedNoRoom:
		return fmt.Errorf("%w: its device or its memory is not enough for one connection more: its Config.Logger has the reason: %w", ErrServerFull, err)
	}
	return fmt.Errorf("%w (the server does not say why: its log may have the reason)", err)
}

// errNoConn reports that the device of a server cannot have one connection more.
var errNoConn = errors.New("rdmaio: no connection could be made")

// errSourceFull reports that the source of a connection has as many connections as it may have.
var errSourceFull = fmt.Errorf("%w for this source", ErrServerFull)
