package tcpstate

import "time"

// State has the kernel's figures of a TCP connection.
type State struct {
	Heard    time.Duration // since data or an acknowledgment was received
	Received uint64        // bytes, read or not
}
