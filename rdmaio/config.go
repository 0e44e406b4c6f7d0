package rdmaio

import (
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Config configures Dial and Listen. nil is fine: a zero field is the default
// named with it, a negative one switches the thing off where that makes sense and is
// refused where it does not.
type Config struct {
	// Credits is how many Calls may be outstanding on a connection: requested by
	// the side that dials, granted at most by the one that listens. Each costs a Receive
	// of InlineRecv bytes and a send buffer of InlineSend. Default 32.
	Credits int

	// InlineSend and InlineRecv are the inline thresholds: how large a message is sent
	// and received without chunks, header included, bytes (RFC 8166 §3.3.2). Default, and
	// least, 1024. InlineSend must not be more than what the peer receives.
	InlineSend, InlineRecv int

	// MaxPull is how many bytes one Call may make the server fetch by RDMA Read.
	// Default 1 MiB + 64 KiB; negative: as many as a slice can hold.
	MaxPull int

	// MaxSegments is how many segments a chunk of the peer may have, and MaxChunks
	// how many read chunks, and write chunks, a header. Default 256 and 16; negative: what fits in a header.
	MaxSegments, MaxChunks int

	// SegmentSize is how many bytes a segment of our own chunks has at most. Default 1 GiB.
	SegmentSize int

	// SendQueue is the number of entries of the send queue. A Call whose chunks need more
	// is refused. Default 256, or the device's maximum if less.
	SendQueue int

	// WorkTimeout is how long posted work may take before the connection is given
	// up: a peer that takes no message or serves no RDMA Read. Default 30 s; negative: forever.
	WorkTimeout time.Duration

	// Blocking says that the handler of a server may wait. Each Call then has a
	// goroutine, at most Credits for each connection. Without it the handler runs on the
	// goroutine that received the Call, which is faster, and must return soon; it still
	// may answer later.
	Blocking bool

	// Logger gets what a person may want to know about connections; nil is silent.
	Logger *slog.Logger
}

// settings are a Config with its defaults.
type settings struct {
	Config
	limits chunk.Limits
}

const leastInline = 1024 // RFC 8166 §3.3.3; R36

// settings fills in defaults and refuses what cannot work on the device.
func (cfg *Config) settings(a *verbs.DeviceAttributes) (settings, error) {
	var s settings
	if cfg != nil {
		s.Config = *cfg
	}
	var err error
	number := func(name string, f *int, def, least, most int) {
		if *f == 0 {
			*f = min(def, most)
		}
		if err == nil && (*f < least || *f > most) {
			err = fmt.Errorf("rdmaio: Config.%s is %d, must be within %d and %d: %w", name, *f, least, most, verbs.ErrInvalidValue)
		}
	}
	off := func(f *int, def, most int) {
		switch {
		case *f == 0:
			*f = def
		case *f < 0:
			*f = most
		}
	}
	number("Credits", &s.Credits, 32, 1, a.MaxRecvWR)
	number("InlineSend", &s.InlineSend, leastInline, leastInline, math.MaxInt32)
	number("InlineRecv", &s.InlineRecv, leastInline, leastInline, math.MaxInt32)
	number("SendQueue", &s.SendQueue, 256, 2, a.MaxSendWR)
	number("SegmentSize", &s.SegmentSize, 1<<30, 1, math.MaxInt32)
	off(&s.MaxPull, 1<<20+64<<10, math.MaxInt/2)
	off(&s.MaxSegments, 256, math.MaxInt)
	off(&s.MaxChunks, 16, math.MaxInt)
	switch {
	case s.WorkTimeout == 0:
		s.WorkTimeout = 30 * time.Second
	case s.WorkTimeout < 0:
		s.WorkTimeout = 0
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	s.limits = chunk.Limits{
		Bytes: uint64(s.MaxPull), Segments: s.MaxSegments, Chunks: s.MaxChunks,
		Requests: s.SendQueue, Transfer: min(a.MaxMessageSize, math.MaxInt32),
	}
	return s, err
}
