package rdmaio

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// versionMemory remembers the version with which a Client begins its connections, if that is not
// the first of Config.Versions (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.3.3; R189, R192):
//
//   - version 1, after version 2 got no answer, or the connection was lost before an answer or
//     right after the server refused version 2
//   - version 2, after the server refused a Call of version 1 and named version 2
type versionMemory struct {
	versions []int         // Config.Versions
	keep     time.Duration // ClientConfig.VersionMemory; 0: nothing is remembered
	changes  atomic.Uint64 // ClientStats.VersionChanges

	mu    sync.Mutex
	first int       // the version remembered, or 0
	until time.Time // when it is forgotten
	fresh bool      // first is new since takeFresh
}

// begin returns the version with which a connection begins now.
func (m *versionMemory) begin() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now()
}

// now is begin for a caller that holds mu.
func (m *versionMemory) now() int {
	if m.first != 0 && time.Now().Before(m.until) {
		return m.first
	}
	return m.versions[0]
}

// config returns the Config for a connection that begins now: cfg with the versions in this order.
func (m *versionMemory) config(cfg *Config) *Config {
	first := m.begin()
	if first == m.versions[0] {
		return cfg
	}
	c := *cfg // not nil: it has two versions
	c.Versions = append([]int{first}, slices.DeleteFunc(slices.Clone(m.versions), func(v int) bool { return v == first })...)
	return &c
}

// learn makes connections begin with a version, for VersionMemory. It reports whether this is new.
func (m *versionMemory) learn(version int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keep == 0 || !slices.Contains(m.versions, version) || m.now() == version {
		return false
	}
	m.first, m.until, m.fresh = version, time.Now().Add(m.keep), true
	return true
}

// takeFresh reports whether learn has learnt something since the last takeFresh.
func (m *versionMemory) takeFresh() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := m.fresh
	m.fresh = false
	return fresh
}

// forget forgets the version.
func (m *versionMemory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.first, m.fresh = 0, false
}
