package iofs

import "sync"

// cache has the data of files that can only be read from the beginning, the oldest first.
type cache struct {
	mu    sync.Mutex
	freed sync.Cond // of mu; a waiting reserve may go on
	most  int64     // bytes
	bytes int64     // of files, and of those that are being read
	files []*node   // their data is kept
}

func (c *cache) init(most int64) { c.most, c.freed.L = most, &c.mu }

// get returns a file's data, or nil.
func (c *cache) get(n *node) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return n.kept
}

// reserve takes memory for a file that is going to be read, at most c.most. It drops files to have
// room, and waits while those that are being read leave none. put or release follows.
func (c *cache) reserve(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.bytes+bytes > c.most {
		if len(c.files) == 0 {
			c.freed.Wait()
			continue
		}
		c.bytes -= int64(len(c.files[0].kept))
		c.files[0].kept = nil
		c.files = c.files[1:]
	}
	c.bytes += bytes
}

// put keeps the data of a file, in the memory that reserve took.
func (c *cache) put(n *node, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.kept, c.files = data, append(c.files, n)
	c.freed.Broadcast()
}

// release gives memory back that reserve took.
func (c *cache) release(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes -= bytes
	c.freed.Broadcast()
}
