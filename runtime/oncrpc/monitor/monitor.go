package monitor

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Defaults of Config.
const (
	DefaultKeep          = 10 * time.Second
	DefaultMaxProcedures = 256
	DefaultMaxPeers      = 256
	DefaultMaxErrors     = 100
)

// Config configures a Monitor. The zero value, and nil, have the defaults.
type Config struct {
	// Programs have the names of the procedures. Others are shown by their numbers.
	Programs []oncrpc.Program

	// Keep is the time for which Calls are recorded after a look: 10 s if zero, and always if
	// negative.
	Keep time.Duration

	// ByPeer counts the Calls of each peer's host apart, in place of all together.
	ByPeer bool

	// MaxProcedures is the number of procedures, times peers with ByPeer, that are counted apart:
	// 256 if zero. All others are one more, with the name "others". Up to half of the places are
	// kept for the procedures of Programs: a peer chooses the numbers of others.
	MaxProcedures int

	// MaxPeers is the number of peers' hosts that Metrics counts apart: 256 if zero. All others are
	// one more on each side, with the name "others".
	MaxPeers int

	// MaxErrors is the number of records that Log keeps: 100 if zero.
	MaxErrors int
}

// Monitor records Calls while its page is open. It is an http.Handler. All methods are safe
// for concurrent use.
//
//	idle ── a look ──> recording ── Config.Keep after the last look ──> idle
//
// Metrics is a look that keeps the recording for longer.
type Monitor struct {
	cfg Config
	on  atomic.Bool // recording

	mu       sync.Mutex
	since    time.Time   // when the recording began
	until    time.Time   // when it stops
	end      *time.Timer // calls rest then
	sources  []*named
	progress progress
	counts   counts
	peers    peers
	last     ring
}

// New returns a Monitor. cfg may be nil.
func New(cfg *Config) *Monitor {
	m := &Monitor{}
	if cfg != nil {
		m.cfg = *cfg
	}
	if m.cfg.Keep == 0 {
		m.cfg.Keep = DefaultKeep
	}
	if m.cfg.MaxProcedures <= 0 {
		m.cfg.MaxProcedures = DefaultMaxProcedures
	}
	if m.cfg.MaxErrors <= 0 {
		m.cfg.MaxErrors = DefaultMaxErrors
	}
	if m.cfg.MaxPeers <= 0 {
		m.cfg.MaxPeers = DefaultMaxPeers
	}
	m.counts.most, m.peers.most = m.cfg.MaxProcedures, m.cfg.MaxPeers
	for i := range m.cfg.Programs {
		m.counts.kept += len(m.cfg.Programs[i].Procedures)
	}
	m.counts.kept = min(m.counts.kept, m.counts.most/2)
	m.last.most = m.cfg.MaxErrors
	if m.cfg.Keep < 0 {
		m.since = time.Now()
		m.on.Store(true)
	}
	return m
}

// look begins a recording, or prolongs it, so that it lasts for keep at least. m.mu must be held.
func (m *Monitor) look(keep time.Duration) {
	if m.cfg.Keep < 0 {
		return
	}
	if until := time.Now().Add(keep); until.After(m.until) {
		m.until = until
		if m.end == nil {
			m.end = time.AfterFunc(keep, m.rest)
		} else {
			m.end.Reset(keep)
		}
	}
	if !m.on.Load() {
		m.since = time.Now()
		m.on.Store(true)
	}
}

// rest stops the recording, unless a look came at the same time. Calls that it has seen begin are
// counted when they are over.
func (m *Monitor) rest() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !time.Now().Before(m.until) {
		m.on.Store(false)
	}
}
