package trace

import (
	"io"
	"sync"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
)

// Capture writes the messages of traced queue pairs as a pcapng file, which stock Wireshark
// and tshark dissect down to RPC-over-RDMA version 1 and NFS. For version 2 they need
// tools/wireshark/rpcrdma2.lua.
//
// The packets are made up. Each queue pair has an interface, named "device/qpN", with its own TCP
// connection in raw IPv4 packets. The messages are written as an iWARP stack would send them (RFC
// 5044, 5041, 5040), with valid lengths, numbers, checksums and CRCs. The listener's port is 20049.
// Sends have no Solicited Event bit, because Wireshark dissects RPC-over-RDMA only in plain Sends;
// trace events have the flag.
//
// The file has the messages of the traced end. Sends, Writes and Read requests are written
// when they are posted, even if the provider then refuses them, which Events show. Received
// messages and the data of Reads are written when their completion is polled. The peer's
// Writes and Reads do not involve this end: they are in the file only if the peer's device
// is traced too, on its own interface.
//
// A Capture holds one packet in memory, and for each queue pair the lists of posted Receives
// and Reads, at most 4096 of each. The file has the payload of the messages, so protect it
// as that payload.
type Capture struct {
	mu   sync.Mutex // of all streams
	file *pcapng.File
}

// NewCapture writes the head of a file and returns its Capture. snap is the number of bytes to
// keep from each packet, or 0 for all; headers have about 80. Each packet is one Write to w, which
// may be a bufio.Writer. After an error of w, nothing more is written.
func NewCapture(w io.Writer, snap int) *Capture { return &Capture{file: pcapng.NewFile(w, snap)} }

// Err returns the error of w, or nil.
func (c *Capture) Err() error { return c.file.Err() }
