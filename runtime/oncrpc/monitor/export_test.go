package monitor

import "time"

// AddTime counts a Call that took d.
func AddTime(m *Monitor, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended(&call{}, "SUCCESS", d)
}

// Page is the page, and Policy what it may do.
var (
	Page   = page
	Policy = policy
)
