package rdmaio

import (
	"fmt"
	"time"
)

// Unrest waits for a moment until no Call uses a connection of the Client or waits for one. It
// returns what uses one or waits then, or "".
func Unrest(c *Client) (wrong string) {
	for range 50 {
		calls, waiting := c.pool.Load()
		if calls+waiting == 0 {
			return ""
		}
		wrong = fmt.Sprintf("%d Calls use a connection, %d wait", calls, waiting)
		time.Sleep(10 * time.Millisecond)
	}
	return wrong
}
