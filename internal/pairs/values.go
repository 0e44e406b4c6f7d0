package pairs

import (
	"math"
	"time"
)

// some are values of a field, as int64.
func some(values ...int64) []int64 { return values }

const (
	seconds = int64(time.Second)
	off     = -1
)

// limits are the extremes of a number: the smallest, no limit, and the largest, which no sum and no
// product of limits may exceed.
var limits = some(1, off, math.MaxInt)

// times are the extremes of a time-out: short, but longer than a test machine pauses, no limit, and
// the longest, which no deadline may exceed.
var times = some(10*seconds, off, math.MaxInt64)

// Values returns the extremes of each number and each time in the Configs, by the name of the
// struct and the field. The messages of Run fit in the smallest value of a size.
func Values() map[string][]int64 {
	values := map[string][]int64{
		"tcp.Config.MaxCalls":         limits,
		"tcp.Config.MaxRequests":      limits,
		"tcp.Config.MaxHandlers":      limits,
		"tcp.Config.MaxRecord":        some(64<<10, off),
		"tcp.Config.MaxFragments":     limits,
		"tcp.Config.MaxReply":         some(64<<10, off),
		"tcp.Config.MaxMemory":        some(16<<20, off),
		"tcp.Config.RecordTimeout":    times,
		"tcp.Config.SendTimeout":      times,
		"tcp.Config.FirstCallTimeout": times,
		"tcp.Config.PeerTimeout":      times,
		"tcp.Config.IdleTimeout":      times,
		"tcp.Config.MaxConns":         limits,
		"tcp.Config.AcceptRate":       limits,
		"tcp.Config.MaxPerSource":     limits,

		"tcp.ClientConfig.DialTimeout":  times,
		"tcp.ClientConfig.MinBackoff":   some(1, off),
		"tcp.ClientConfig.MaxBackoff":   some(seconds, 3600*seconds),
		"tcp.ClientConfig.DialFailures": limits,
		"tcp.ClientConfig.Retransmits":  limits,
		"tcp.ClientConfig.IdleTimeout":  times,
		"tcp.ClientConfig.StuckTimeout": times,
		"tcp.ClientConfig.Connections":  some(1, 8),

		"udp.Config.MaxCalls":      limits,
		"udp.Config.MinRetransmit": some(seconds/10, 5*seconds),
		"udp.Config.MaxRetransmit": some(seconds, 3600*seconds),
		"udp.Config.MaxRequests":   some(32, off),
		"udp.Config.ReplyRate":     limits,
		"udp.Config.MaxMemory":     some(16<<20, off),

		"rdmaio.Config.Credits":          some(1, 128),
		"rdmaio.Config.InlineSend":       some(1024, 64<<10),
		"rdmaio.Config.InlineRecv":       some(1024, 64<<10),
		"rdmaio.Config.OfferTimeout":     times,
		"rdmaio.Config.MaxContinued":     some(64<<10, off),
		"rdmaio.Config.Continue":         limits,
		"rdmaio.Config.RemoteInvalidate": limits,
		"rdmaio.Config.MaxReadBytes":     some(64<<10, off),
		"rdmaio.Config.MaxConnMemory":    limits,
		"rdmaio.Config.MaxReplyMemory":   limits,
		"rdmaio.Config.MaxMemory":        some(16<<20, off),
		"rdmaio.Config.IdleTimeout":      times,
		"rdmaio.Config.MaxConns":         limits,
		"rdmaio.Config.MaxPerSource":     limits,
		"rdmaio.Config.MaxErrors":        limits,
		"rdmaio.Config.MaxSegments":      some(16, off),
		"rdmaio.Config.MaxChunks":        limits,
		"rdmaio.Config.SegmentSize":      some(4096, 1<<31-1),
		"rdmaio.Config.SendQueue":        some(8, 1024),
		"rdmaio.Config.WorkTimeout":      times,
		"rdmaio.Config.MaxHandlers":      limits,
		"rdmaio.Config.ReverseCredits":   some(1, 64), // without any there are no callbacks

		"rdmaio.ClientConfig.DialTimeout":   times,
		"rdmaio.ClientConfig.MinBackoff":    some(1, off),
		"rdmaio.ClientConfig.MaxBackoff":    some(seconds, 3600*seconds),
		"rdmaio.ClientConfig.DialFailures":  limits,
		"rdmaio.ClientConfig.Retransmits":   limits,
		"rdmaio.ClientConfig.StuckTimeout":  times,
		"rdmaio.ClientConfig.IdleTimeout":   times,
		"rdmaio.ClientConfig.Connections":   some(1, 8),
		"rdmaio.ClientConfig.VersionMemory": times,

		"replycache.Config.Grace":      times,
		"replycache.Config.Entries":    limits,
		"replycache.Config.Bytes":      limits,
		"replycache.Config.MaxBytes":   limits,
		"replycache.Config.MaxSources": limits,
		"replycache.Config.Age":        some(10 * seconds),
		"replycache.Config.MaxReply":   limits,

		"tcp.Config.TLS.HandshakeTimeout":      times,
		"tcp.Config.TLS.MaxHandshakes":         limits,
		"rdmaio.Config.HostAuth.Timeout":       times,
		"rdmaio.Config.HostAuth.Limits.Rounds": some(8, off),
		"rdmaio.Config.HostAuth.Limits.Bytes":  some(4<<10, off),

		"mem.Config.RegisterDelay": some(int64(time.Millisecond), off),
		"mem.Config.Backlog":       some(8, off),

		"ibverbs.Config.ACKTimeout":       some(seconds/10, 10*seconds),
		"ibverbs.Config.Retries":          some(1, 7, off),
		"ibverbs.Config.CompletionVector": some(0),
		"ibverbs.Config.PeerTimeout":      times,
		"ibverbs.Config.Backlog":          some(8, 1<<20),

		"iwarp.Config.Revision":   some(1, 2),
		"iwarp.Config.MULPDU":     some(128, 64768),
		"iwarp.Config.FirstDelay": some(1, off),
	}
	for _, provider := range []string{"rdmatcp", "iwarp"} { // over package stream
		for name, of := range map[string][]int64{
			"HandshakeTimeout": times, "SegmentTimeout": times, "MessageTimeout": times, "SendTimeout": times,
			"PeerTimeout": times, "ReceiveTimeout": times, "MaxConnections": limits, "MaxPerSource": limits,
			"MaxHandshakes": limits, "AcceptRate": limits, "Backlog": limits, "LogRate": limits,
		} {
			values[provider+".Config."+name] = of
		}
	}
	return values
}
