package udp

import (
	"math"
	"net/netip"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// source holds the limits of one IPv4 address or IPv6 network of 64 bits.
type source struct {
	unlimited bool // there is no limit of bytes
	share     *admission.Share
	requests  int     // not answered
	waiting   int     // Requests that wait for memory
	left      float64 // bytes by which replies may exceed Calls; below zero after a large one
	at        time.Time
}

// maxSources is the largest number of sources that a Server knows. It forgets those that have no
// Call in progress and got nothing for a second.
const maxSources = 4096

// sweepInterval is the time between two searches for sources to forget.
const sweepInterval = 100 * time.Millisecond

// source returns the source of an address, or nil if there are too many. s.mu must be held.
func (s *Server) source(ip netip.Addr, now time.Time) *source {
	from := admission.SourceAt(ip)
	src := s.sources[from.Prefix]
	if src != nil {
		return src
	}
	if len(s.sources) >= maxSources && now.Sub(s.swept) >= sweepInterval {
		s.swept = now
		for of, src := range s.sources {
			if src.refill(now, s.set.ReplyRate); src.requests == 0 && src.left == float64(s.set.ReplyRate) {
				src.share.Leave()
				delete(s.sources, of)
			}
		}
	}
	if len(s.sources) >= maxSources {
		return nil
	}
	unlimited := from.Local || s.set.ReplyRate == math.MaxInt
	src = &source{unlimited: unlimited, left: float64(s.set.ReplyRate), at: now}
	src.share = s.memory.Join(admission.Source{Prefix: from.Prefix})
	s.sources[from.Prefix] = src
	return src
}

// awaitTicket takes memory for the reply to a Request, of at most bound bytes unless that is
// negative, and reports whether it did. It waits for it, unless a quarter of Config.MaxRequests of
// the source wait: then the client must send its Call again.
func (s *Server) awaitTicket(r *request, bound int) bool {
	if r.ticket.Admit(bound, nil) {
		return true
	}
	s.mu.Lock()
	if r.source.waiting >= s.set.MaxRequests/4 {
		s.stats.Excess++
		s.mu.Unlock()
		s.warnIgnored("Config.MaxMemory", r.peer.remote)
		return false
	}
	r.source.waiting++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		r.source.waiting--
		s.mu.Unlock()
	}()
	return r.ticket.Await(bound, r, s.run.Done())
}

// refill adds the bytes of the time since the last call.
func (src *source) refill(now time.Time, rate int) {
	src.left = min(float64(rate), src.left+now.Sub(src.at).Seconds()*float64(rate))
	src.at = now
}

// mayReply reports whether a reply may be sent that has more bytes than its Call, and counts it.
func (s *Server) mayReply(src *source, excess int, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if src.unlimited || excess <= 0 {
		return true
	}
	if src.refill(now, s.set.ReplyRate); src.left <= 0 {
		s.stats.Withheld++
		return false
	}
	src.left -= float64(excess)
	return true
}
