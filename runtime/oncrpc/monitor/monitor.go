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
	// 256 if zero. All others are one more, with the name "others".
	MaxProcedures int

	// MaxErrors is the number of records that Log keeps: 100 if zero.
	MaxErrors int
}

// Monitor records Calls while its page is open. It is an http.Handler. All methods are safe
// for concurrent use.
//
//	idle ── a look ──> recording ── Config.Keep after the last look ──> idle
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
	m.counts.most = m.cfg.MaxProcedures
	m.last.most = m.cfg.MaxErrors
	if m.cfg.Keep < 0 {
		m.since = time.Now()
		m.on.Store(true)
	}
	return m
}

// look begins a recording, or prolongs it. m.mu must be held.
func (m *Monitor) look() {
	if m.cfg.Keep < 0 {
		return
	}
	m.until = time.Now().Add(m.cfg.Keep)
	if m.end == nil {
		m.end = time.AfterFunc(m.cfg.Keep, m.rest)
	} else {
		m.end.Reset(m.cfg.Keep)
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
