package tcpstate

import "time"

// State is what the kernel knows of a TCP connection.
type State struct {
	Heard    time.Duration // since data or an acknowledgment was received
	Received uint64        // bytes, also those that nobody has read
}
