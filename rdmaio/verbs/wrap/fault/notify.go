package fault

import "time"

// wake passes a notification on, or injects a fault. The provider calls it, and so does this
// package: a notification without need is allowed. The queue is no longer armed afterwards,
// even if the notification is lost.
func (c *completionQueue) wake() {
	c.mu.Lock()
	c.armed = false
	c.mu.Unlock()
	if c.notify == nil {
		return
	}
	if _, fires := c.dev.inj.occasion(LoseNotify); fires {
		return
	}
	if _, fires := c.dev.inj.occasion(DelayNotify); fires {
		c.notifyLater()
		return
	}
	c.notify()
	if _, fires := c.dev.inj.occasion(RepeatNotify); fires {
		c.notify()
	}
}

// notifyLater notifies after Config.NotifyDelay, unless the queue is closed by then.
func (c *completionQueue) notifyLater() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(c.dev.inj.cfg.NotifyDelay, func() {
		c.mu.Lock()
		delete(c.timers, t)
		closed := c.closed
		c.mu.Unlock()
		if !closed {
			c.notify()
		}
	})
	if c.timers == nil {
		c.timers = make(map[*time.Timer]struct{})
	}
	c.timers[t] = struct{}{}
}

// Close closes the queue and stops delayed notifications.
func (c *completionQueue) Close() error {
	if err := c.CompletionQueue.Close(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for t := range c.timers {
		t.Stop()
	}
	clear(c.timers)
	return nil
}
