package pairs

import "time"

// some are values of a field, as int64.
func some(values ...int64) []int64 { return values }

const (
	seconds = int64(time.Second)
	off     = -1
)

// times are the extremes of a time-out: short, but longer than a test machine pauses, and no limit.
var times = some(10*seconds, off)

// Values returns the extremes of each number and each time in the Configs, by the name of the
// struct and the field. The messages of Run fit in the smallest value of a size.
func Values() map[string][]int64 {
	return map[string][]int64{
		"tcp.Config.MaxCalls":         some(1, off),
		"tcp.Config.MaxRequests":      some(1, off),
		"tcp.Config.MaxHandlers":      some(1, off),
		"tcp.Config.MaxRecord":        some(64<<10, off),
		"tcp.Config.MaxFragments":     some(1, off),
		"tcp.Config.MaxReply":         some(64<<10, off),
		"tcp.Config.MaxMemory":        some(16<<20, off),
		"tcp.Config.RecordTimeout":    times,
		"tcp.Config.SendTimeout":      times,
		"tcp.Config.FirstCallTimeout": times,
		"tcp.Config.PeerTimeout":      times,
		"tcp.Config.IdleTimeout":      times,
		"tcp.Config.MaxConns":         some(1, off),
		"tcp.Config.AcceptRate":       some(1, off),
		"tcp.Config.MaxPerSource":     some(1, off),

		"tcp.ClientConfig.DialTimeout":  times,
		"tcp.ClientConfig.MinBackoff":   some(1, off),
		"tcp.ClientConfig.MaxBackoff":   some(seconds, 3600*seconds),
		"tcp.ClientConfig.DialFailures": some(1, off),
		"tcp.ClientConfig.Retransmits":  some(1, off),
		"tcp.ClientConfig.IdleTimeout":  times,
		"tcp.ClientConfig.StuckTimeout": times,
		"tcp.ClientConfig.Connections":  some(1, 8),

		"udp.Config.MaxCalls":      some(1, off),
		"udp.Config.MinRetransmit": some(seconds/10, 5*seconds),
		"udp.Config.MaxRetransmit": some(seconds, 3600*seconds),
		"udp.Config.MaxRequests":   some(32, off),
		"udp.Config.ReplyRate":     some(1, off),
		"udp.Config.MaxMemory":     some(16<<20, off),

		"rdmaio.Config.Credits":          some(1, 128),
		"rdmaio.Config.InlineSend":       some(1024, 64<<10),
		"rdmaio.Config.InlineRecv":       some(1024, 64<<10),
		"rdmaio.Config.OfferTimeout":     times,
		"rdmaio.Config.MaxContinued":     some(64<<10, off),
		"rdmaio.Config.Continue":         some(1, off),
		"rdmaio.Config.RemoteInvalidate": some(1, off),
		"rdmaio.Config.MaxReadBytes":     some(64<<10, off),
		"rdmaio.Config.MaxConnMemory":    some(1, off),
		"rdmaio.Config.MaxReplyMemory":   some(1, off),
		"rdmaio.Config.MaxMemory":        some(16<<20, off),
		"rdmaio.Config.IdleTimeout":      times,
		"rdmaio.Config.MaxConns":         some(1, off),
		"rdmaio.Config.MaxPerSource":     some(1, off),
		"rdmaio.Config.MaxErrors":        some(1, off),
		"rdmaio.Config.MaxSegments":      some(16, off),
		"rdmaio.Config.MaxChunks":        some(1, off),
		"rdmaio.Config.SegmentSize":      some(4096, 1<<31-1),
		"rdmaio.Config.SendQueue":        some(8, 1024),
		"rdmaio.Config.WorkTimeout":      times,
		"rdmaio.Config.MaxHandlers":      some(1, off),
		"rdmaio.Config.ReverseCredits":   some(1, 64), // without any there are no callbacks

		"rdmaio.ClientConfig.DialTimeout":   times,
		"rdmaio.ClientConfig.MinBackoff":    some(1, off),
		"rdmaio.ClientConfig.MaxBackoff":    some(seconds, 3600*seconds),
		"rdmaio.ClientConfig.DialFailures":  some(1, off),
		"rdmaio.ClientConfig.Retransmits":   some(1, off),
		"rdmaio.ClientConfig.StuckTimeout":  times,
		"rdmaio.ClientConfig.IdleTimeout":   times,
		"rdmaio.ClientConfig.Connections":   some(1, 8),
		"rdmaio.ClientConfig.VersionMemory": times,

		"replycache.Config.Grace":      times,
		"replycache.Config.Entries":    some(1, off),
		"replycache.Config.Bytes":      some(1, off),
		"replycache.Config.MaxBytes":   some(1, off),
		"replycache.Config.MaxSources": some(1, off),
		"replycache.Config.Age":        some(10 * seconds),
		"replycache.Config.MaxReply":   some(1, off),
	}
}
