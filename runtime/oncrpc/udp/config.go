package udp

import (
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// MaxMessage is the size of the longest message in bytes: the longest datagram over IPv4.
const MaxMessage = 65_507

// largestReply is the size in bytes of the largest reply that a handler is expected to make. Those
// that serve TCP, too, make replies which are not sent here.
const largestReply = oncrpc.DefaultMaxMessage + 64<<10

// Errors for errors.Is. The text of an error that wraps one of them has the details.
var (
	// ErrSize reports a message that does not fit in a datagram.
	ErrSize = errors.New("udp: the message does not fit in a datagram")
	// ErrRate reports a reply that was not sent because of Config.ReplyRate.
	ErrRate = errors.New("udp: replies to the source exceed Config.ReplyRate")
	// ErrIdle is the reason why a Request's Conn is down after its client's last Call in progress
	// was answered.
	ErrIdle = errors.New("udp: the client has no Call in progress")
	// ErrRefused reports that no program at the peer's host has the port.
	ErrRefused = errors.New("udp: nothing listens at the address")
)

// Config configures Dial and Listen. A nil *Config has the default in every field.
type Config struct {
	// MaxCalls is the largest number of Calls that a client has in progress. If zero, the default
	// is 256. If negative, there is no limit but 65,536. Further Calls wait.
	MaxCalls int

	// MinRetransmit is the time after which a client sends a Call again. If zero, the default is
	// 1 s. If negative, a Call is sent once. The time doubles for each transmission up to
	// MaxRetransmit, whose default is 16 s.
	MinRetransmit, MaxRetransmit time.Duration

	// MaxRequests is the largest number of Requests that a server has not answered, and so the
	// largest number of handlers. If zero, the default is 256. If negative, there is no limit. A
	// source has at most as many as remain after it. Further Calls are ignored.
	MaxRequests int

	// MaxMemory is the memory, in bytes, for a server's Requests, their replies and the values
	// that package rpc decodes from the arguments. If zero, the default is 256 MiB. If negative,
	// there is no limit. Two thirds are given out: the rest is garbage. A half of that is for
	// Calls and for replies with a bound (oncrpc.Bounder), with a share for each source as for
	// tcp.Config.MaxMemory. Calls beyond that are ignored, and Calls whose arguments need more are
	// answered with SYSTEM_ERR. The other half is for handlers without a bound. As many run at a
	// time as could all make a reply of 16 MiB, which is then not sent: by default five. Others
	// wait, a quarter of MaxRequests for each source at most, and further ones are ignored.
	MaxMemory int

	// ReplyRate is the number of bytes in a second by which the replies of a server to one source
	// may exceed its Calls, and the largest burst, beyond which one reply more is sent. If zero,
	// the default is 16 KiB. If negative, there is no limit. Loopback addresses have no limit.
	// Further replies are not sent.
	ReplyRate int

	// Logger receives warnings. If nil, errors and panics of handlers go to the slog.Default of the
	// time when the server is made, and nothing else is logged. There are at most ten lines in a
	// second that peers can cause.
	Logger *slog.Logger
}

// settings is a Config with its defaults.
type settings struct {
	Config
	faults *slog.Logger // of handlers
}

// settle returns the configuration with its defaults. Limits that are off are the largest int, and
// MinRetransmit zero.
func (cfg *Config) settle() settings {
	var s settings
	if cfg != nil {
		s.Config = *cfg
	}
	limit := func(f *int, def int) {
		switch {
		case *f == 0:
			*f = def
		case *f < 0:
			*f = math.MaxInt
		}
	}
	limit(&s.MaxCalls, 256)
	s.MaxCalls = min(s.MaxCalls, 1<<16)
	limit(&s.MaxRequests, 256)
	limit(&s.MaxMemory, 256<<20)
	limit(&s.ReplyRate, 16<<10)
	if s.MinRetransmit == 0 {
		s.MinRetransmit = time.Second
	}
	s.MinRetransmit = max(s.MinRetransmit, 0)
	if s.MaxRetransmit <= 0 {
		s.MaxRetransmit = 16 * time.Second
	}
	s.MaxRetransmit = max(s.MaxRetransmit, s.MinRetransmit)
	s.faults = s.Logger
	if s.Logger == nil {
		s.Logger, s.faults = slog.New(slog.DiscardHandler), slog.Default()
	}
	s.Logger, s.faults = admission.LimitLog(s.Logger), admission.LimitLog(s.faults)
	return s
}
