package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// setup has the parameters that the two ends exchanged when they connected.
type setup struct {
	sent []byte // our private data
	info verbs.ConnInfo
}

// setupDevice is a device that keeps the setup of its last connection.
type setupDevice struct {
	verbs.Device
	setup setup
}

// Dial implements verbs.Dialer.
func (d *setupDevice) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	info, err := d.Device.Dial(ctx, addr, qp, params)
	if err == nil {
		d.setup = setup{info: *info}
		d.setup.info.PrivateData = bytes.Clone(info.PrivateData)
		if d.Attributes().PaddedPrivateData {
			d.setup.info.PrivateData = unpadded(d.setup.info.PrivateData)
		}
		if params != nil {
			d.setup.sent = bytes.Clone(params.PrivateData)
		}
	}
	return info, err
}

// unpadded returns private data without the zeros that the device adds: an advertisement of RFC
// 8797, whose length is known, or nothing. The zeros of other data may be part of it.
func unpadded(b []byte) []byte {
	n := 0
	if advertises(b) {
		n = advertisement
	}
	if len(bytes.Trim(b[n:], "\x00")) > 0 {
		return b
	}
	return b[:n]
}

// advertisement is the length in bytes of private data in the format of RFC 8797 §4, version 1.
const advertisement = 8

// advertises reports whether private data begins with an advertisement.
func advertises(b []byte) bool {
	const formatID = 0xf6ab0e18
	return len(b) >= advertisement && binary.BigEndian.Uint32(b) == formatID && b[4] == 1
}

// privateData returns private data in hex, with the meaning of RFC 8797 §4 if they have it at their
// start.
func privateData(b []byte) string {
	switch {
	case len(b) == 0:
		return "none"
	case !advertises(b):
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprintf("%x (sends up to %d bytes, receives up to %d, remote invalidation: %s)",
		b, (int(b[6])+1)<<10, (int(b[7])+1)<<10, yesNo(b[5]&1 != 0))
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
