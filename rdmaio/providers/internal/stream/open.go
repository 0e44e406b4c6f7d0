package stream

import "time"

// leastRate is the slowest rate of an open message, in bytes of payload a second (RFC
// 5042 §6.4.3.1). Empty frames cannot keep a message open without limit.
const leastRate = 1 << 10

// openTime measures the time in which there always was an open message.
type openTime struct {
	since time.Time // its start; zero: there is no open message
	bytes int64     // payload that has arrived since then
}

// nextLimit returns the time by which the next frame must begin: no limit, unless a
// message is open. patience is Config.MessageTimeout.
func (o *openTime) nextLimit(open bool, patience time.Duration) time.Time {
	if !open {
		o.since = time.Time{}
		return time.Time{}
	}
	now := time.Now()
	if o.since.IsZero() {
		o.since, o.bytes = now, 0
	}
	last := o.since.Add(patience + time.Duration(min(o.bytes, 1<<40))*(time.Second/leastRate))
	if next := now.Add(patience); next.Before(last) {
		return next
	}
	return last
}
