package verbs

import "time"

// FloorAsyncClient is a FloorClient that has one goroutine and makes small calls: it reads all that
// has come, answers each reply by the next Call, and writes once.
type FloorAsyncClient struct {
	*FloorClient
	*Sampler
}

// DialFloorAsync connects to ServeFloor, or to a server of rdmaio over rdmatcp, as DialFloor does.
func DialFloorAsync(addr string, s Shape) (*FloorAsyncClient, error) {
	c, err := dialFloor(addr, Call, s)
	if err != nil {
		return nil, err
	}
	return &FloorAsyncClient{c, NewSampler(s.Depth)}, nil
}

// Run makes n calls, Depth at a time. The reader writes queued Calls before it waits.
func (a *FloorAsyncClient) Run(n int) (time.Duration, error) {
	a.Reset()
	began := time.Now()
	sent, open := 0, 0
	start := func(slot int) {
		a.Begin(slot)
		a.queueCall(&a.calls[slot], slot)
		sent++
		open++
	}
	for sent < min(n, a.shape.Depth) {
		start(sent)
	}
	for open > 0 {
		slot, err := a.step()
		if err != nil {
			return 0, err
		}
		if slot < 0 {
			continue
		}
		if err := a.expected(&a.calls[slot]); err != nil {
			return 0, err
		}
		a.End(slot)
		if open--; sent < n {
			start(slot)
		}
	}
	return time.Since(began), nil
}
