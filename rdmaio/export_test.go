package rdmaio

import (
	"fmt"
	"time"
)

// Unrest waits for a moment until no Call uses a connection of the Client or waits for one. It
// returns what uses one or waits then, or "".
func Unrest(c *Client) (wrong string) {
	for range 50 {
		wrong = ""
		c.mu.Lock()
		for _, l := range c.links.all {
			if l.users != 0 {
				wrong += fmt.Sprintf("%d users; ", l.users)
			}
		}
		if n := len(c.links.queue); n > 0 {
			wrong += fmt.Sprintf("%d wait; ", n)
		}
		c.mu.Unlock()
		if wrong == "" {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return wrong
}
