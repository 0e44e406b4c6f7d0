package rdmaio

import (
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/machine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// settings returns the settings of a side that dials, or an error if the device cannot provide
// them.
func (cfg *Config) settings(dev verbs.Device) (settings, error) {
	return cfg.settle(dev, engine.Requester)
}

// settle returns the settings of either side.
func (cfg *Config) settle(dev verbs.Device, role engine.Role) (settings, error) {
	var s settings
	if dev == nil {
		return s, fmt.Errorf("rdmaio: the device is nil: %w", verbs.ErrInvalidValue)
	}
	a := dev.Attributes()
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
	limit := func(f *int, def, most int) {
		switch {
		case *f == 0:
			*f = def
		case *f < 0:
			*f = most
		}
	}
	number("Credits", &s.Credits, 32, 1, a.MaxRecvWR)
	s.calls = s.Credits
	if role == engine.Requester {
		if s.ReverseHandler == nil {
			s.ReverseCredits = 0
		} else if s.ReverseCredits == 0 {
			s.ReverseCredits = min(8, a.MaxRecvWR-s.Credits)
		}
	}
	s.ReverseCredits = max(s.ReverseCredits, 0)
	if role == engine.Requester {
		s.ReverseChunks = s.ReverseChunks && s.ReverseCredits > 0
		if err == nil && s.ReverseChunks && s.Legacy {
			err = fmt.Errorf("rdmaio: Config.ReverseChunks and Legacy are both on, where a Reply that comes whole by read chunk looks like a reverse Call: "+
				"use one of them, or no ReverseHandler: %w", verbs.ErrInvalidValue)
		}
	}
	s.serves = s.ReverseCredits
	if role == engine.Responder {
		s.calls, s.serves = s.serves, s.calls
	}
	left := a.MaxRecvWR - s.Credits - s.extraReceives()
	if s.Legacy && role == engine.Responder {
		left -= s.Credits
	}
	if err == nil && s.ReverseCredits > left {
		err = fmt.Errorf("rdmaio: Config.Credits is %d (which counts twice for a server with Legacy) and ReverseCredits %d: together more than the device's %d Receives: %w",
			s.Credits, s.ReverseCredits, a.MaxRecvWR, verbs.ErrInvalidValue)
	}
	s.Versions, err = checkVersions(s.Versions, err)
	least := 1
	if err = s.settleHostAuth(err); s.speaks(v2.Number) {
		least = v2.LeastInline // R40
	}
	for _, f := range []struct {
		name string
		size *int
	}{{"InlineSend", &s.InlineSend}, {"InlineRecv", &s.InlineRecv}} {
		switch {
		case *f.size > 0:
			*f.size = max(*f.size, least)
		case *f.size == 0 && a.InlineSize > 0:
			*f.size = min(max(a.InlineSize, least, header.LeastInline), v1.MostInline)
		}
		number(f.name, f.size, defaultInline, header.LeastInline, v1.MostInline)
	}
	number("SendQueue", &s.SendQueue, 256, 2, a.MaxSendWR)
	number("SegmentSize", &s.SegmentSize, 1<<30, 1, math.MaxInt32)
	limit(&s.MaxReadBytes, oncrpc.DefaultMaxMessage, math.MaxInt/2)
	limit(&s.MaxContinued, 1<<20, math.MaxInt/2)
	limit(&s.Continue, 12<<10, 0)
	limit(&s.MaxConnMemory, oncrpc.DefaultMaxMessage, math.MaxInt)
	limit(&s.MaxReplyMemory, largestMessage, math.MaxInt)
	limit(&s.MaxMemory, int(min(1<<30, machine.Memory()/4)), 0)
	limit(&s.MaxConns, 10_000, math.MaxInt)
	limit(&s.MaxErrors, 64, 0)
	limit(&s.MaxHandlers, 256*runtime.GOMAXPROCS(0), 0)
	limit(&s.MaxSegments, 256, math.MaxInt)
	limit(&s.MaxChunks, 16, math.MaxInt)
	switch {
	case s.WorkTimeout == 0:
		s.WorkTimeout = defaultTimeout
	case s.WorkTimeout < 0:
		s.WorkTimeout = 0
	}
	switch {
	case s.OfferTimeout == 0:
		s.OfferTimeout = 5 * time.Second
	case s.OfferTimeout < 0:
		s.OfferTimeout = 0
	}
	switch {
	case s.IdleTimeout == 0:
		s.IdleTimeout = 6 * time.Minute
	case s.IdleTimeout < 0:
		s.IdleTimeout = 0
	}
	s.faults = s.Logger
	if s.Logger == nil {
		s.Logger, s.faults = slog.New(slog.DiscardHandler), slog.Default()
	}
	s.InlineSend, s.InlineRecv = v1.InlineSize(s.InlineSend), v1.InlineSize(s.InlineRecv)
	s.firstRecv = s.InlineRecv
	if err == nil {
		s.extensions, err = newExtensionSet(s.Extensions, s.speaks(v2.Number))
	}
	if err == nil {
		s.firstRecv, err = s.extensions.receiveSize(s.InlineRecv)
	}
	s.invalidate = s.RemoteInvalidate > 0 && a.RemoteInvalidate
	s.whole = a.InlineSize
	s.private = v1.DefaultPrivate()
	if a.MaxPrivateData >= v1.PrivateSize { // else there is no room for it (RFC 8797 §4)
		s.private = v1.Private{
			Send: s.InlineSend, Recv: v1.InlineSize(s.firstRecv),
			RemoteInvalidate: s.invalidate,
		}
	}
	s.limits = chunk.Limits{
		Bytes: uint64(s.MaxReadBytes), Segments: s.MaxSegments, Chunks: s.MaxChunks,
		Transfer: min(a.MaxMessageSize, math.MaxInt32), Address: a.MaxRemoteAddr,
	}
	return s, err
}

// checkVersions returns the versions with the default filled in, or an error if one of them does
// not exist or is there twice. It returns err if that is not nil.
func checkVersions(list []int, err error) ([]int, error) {
	if list == nil {
		list = []int{v1.Number}
	}
	if err != nil {
		return list, err
	}
	if len(list) == 0 {
		return list, fmt.Errorf("rdmaio: Config.Versions is empty, must have 1, 2 or both (nil is version 1): %w", verbs.ErrInvalidValue)
	}
	for i, n := range list {
		if n != v1.Number && n != v2.Number || slices.Contains(list[:i], n) {
			return list, fmt.Errorf("rdmaio: Config.Versions is %v, must have 1, 2 or both, each once: %w", list, verbs.ErrInvalidValue)
		}
	}
	return list, nil
}

// settleHostAuth fills in the defaults of HostAuth. It returns err if that is not nil, or the error
// of a setting that cannot work.
func (s *settings) settleHostAuth(err error) error {
	h := &s.HostAuth
	if h.Timeout == 0 {
		h.Timeout = 10 * time.Second
	}
	switch {
	case err != nil || h.Mode == HostAuthOff:
		return err
	case h.Mode > HostAuthRequired:
		return fmt.Errorf("rdmaio: Config.HostAuth.Mode is %v, must be HostAuthOff, HostAuthWanted or HostAuthRequired: %w", h.Mode, verbs.ErrInvalidValue)
	case h.Method == nil:
		return fmt.Errorf("rdmaio: Config.HostAuth.Mode is %v and Method nil: set the Method: %w", h.Mode, verbs.ErrInvalidValue)
	case h.Mode == HostAuthWanted:
		return nil
	case !s.speaks(v2.Number):
		return fmt.Errorf("rdmaio: Config.HostAuth.Mode is required and Config.Versions %v, must have 2: version 1 has no host authentication: %w", s.Versions, verbs.ErrInvalidValue)
	}
	s.Versions = []int{v2.Number}
	return nil
}
