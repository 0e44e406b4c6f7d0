package monitor

import (
	"net"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// peerKey has the fields by which the Calls of peers are counted together.
type peerKey struct {
	made bool
	host string
}

// peerCounts counts the Calls of a peer, for Metrics.
type peerCounts struct {
	calls, failed  uint64 // all, and those without SUCCESS
	received, sent uint64 // bytes of messages
	took           time.Duration
}

// add counts a Call.
func (p *peerCounts) add(c *call, outcome string, took time.Duration) {
	p.calls++
	if outcome != oncrpc.Success.String() {
		p.failed++
	}
	p.received += uint64(c.received)
	p.sent += uint64(c.sent)
	p.took += max(took, 0)
}

// peers has the counts of peers. The Monitor's mu guards it.
type peers struct {
	most int
	of   map[peerKey]*peerCounts
}

// get returns the counts of a peer, or of all others together when there are too many.
func (p *peers) get(k peerKey) *peerCounts {
	if c := p.of[k]; c != nil {
		return c
	}
	if len(p.of) >= p.most {
		k.host = others
		if c := p.of[k]; c != nil {
			return c
		}
	}
	if p.of == nil {
		p.of = make(map[peerKey]*peerCounts)
	}
	c := new(peerCounts)
	p.of[k] = c
	return c
}

// others is the name of those that are counted together, beyond a limit.
const others = "others"

// hostOf returns the host of an address: a peer has a new port for each connection.
func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// maxName is the length of the longest name, in bytes.
const maxName = 128

// printable returns a name that is a label: valid UTF-8 of at most maxName bytes, with U+FFFD in
// place of characters without a picture. Names that differ there alone become one.
func printable(name string) string {
	i := 0
	for i < len(name) && name[i] >= ' ' && name[i] < 0x7f {
		i++
	}
	if i < len(name) {
		name = strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return utf8.RuneError
			}
			return r
		}, name[:min(len(name), 4*maxName)])
	}
	if len(name) <= maxName {
		return name
	}
	n := maxName
	for !utf8.RuneStart(name[n]) {
		n--
	}
	return name[:n]
}
