package monitor

import "time"

// AddTime counts a Call that took d.
func AddTime(m *Monitor, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	began := time.Now()
	m.ended(&call{began: began}, "SUCCESS", began.Add(d))
}

// Page is the page, and Policy what it may do.
var (
	Page   = page
	Policy = policy
)
