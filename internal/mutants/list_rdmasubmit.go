package main

var (
	rdmaSubmitTests = []string{"rdmaio", testFolders + "client"}
	rdmaKeysTests   = []string{testFolders + "keys", testFolders + "memory"}
)

// rdmaSubmitMutants are in calls over RDMA that need no goroutine: their records, places and ends,
// and the goroutine that runs done functions.
var rdmaSubmitMutants = []mutant{
	{"functions run on the goroutine of a Post", "rdmaio/internal/driver/run.go", "		if rounds == 0 || d.due {\n", "		if d.due {\n			d.mu.Unlock()\n			d.owner.Run()\n			d.due = false\n			d.mu.Lock()\n			continue\n		}\n		if rounds == 0 {\n", driverTests},
	{"functions run on the goroutine of a caller that polls", "rdmaio/internal/driver/run.go", " && !d.owner.Polling(); n-- {", "; n-- {", driverTests},
	{"functions run where any connection's notification runs", "rdmaio/internal/driver/completions.go", "	d.run(c.reads)", "	d.run(true)", driverTests},
	{"functions never run on the reader", "rdmaio/internal/driver/completions.go", "	d.run(c.reads)", "	d.run(false)", driverTests},
	{"a reader runs functions without end", "rdmaio/internal/driver/run.go", "reader && n > 0 && ", "reader && ", driverTests},
	{"no caller polls", "rdmaio/lone.go", "	l.polling.Store(true)\n", "", rdmaSubmitTests},
	{"a caller polls after its Call, too", "rdmaio/lone.go", "	l.polling.Store(false)\n", "", rdmaSubmitTests},
	{"a function that exits stops the runner", "rdmaio/internal/driver/run.go", "		if exited {\n			d.exited()\n		}\n	}()", "		if exited {\n			d.due = false\n		}\n	}()", driverTests},
	{"a handler that exits stops the runner", "rdmaio/internal/driver/run.go", "	exited, more, rest := true,", "	exited, more, rest := false,", driverTests},
	{"a Request that is passed on runs the row", "rdmaio/reply.go", "	r.marked, r.here = false, 0 //", "	//", []string{"rdmaio/internal/test/server"}},
	{"a handler that exits leaves completions", "rdmaio/internal/driver/run.go", "	d.look = d.look || !d.due //", "	//", driverTests},
	{"an event function that exits starts a second runner", "rdmaio/internal/driver/run.go", "	exited = false\n	if !more {\n		d.rested(rest)\n	}\n", "	if !more {\n		d.rested(rest)\n	}\n	exited = false\n", driverTests},
	{"a step is not finished after a handler has exited", "rdmaio/internal/driver/run.go", "	if d.left.effects != nil {\n		d.finish()\n	}\n", "	d.left.effects = nil\n", driverTests},
	{"a handler that exits makes a step post again", "rdmaio/internal/driver/step.go", "		left.stage = postSends\n", "		defer func() { left.stage = max(left.stage, postSends) }()\n", driverTests},
	{"a Disconnect that a handler has left does not return", "rdmaio/internal/driver/step.go", "	if left.stage == disconnect {\n", "	if left.stage == disconnect {\n		left.stage = carryOut\n", driverTests},
	{"a handler that exits takes the other Requests with it", "rdmaio/effects.go", "			f.Deliver[i] = nil\n			c.answerer.deliver(r)\n", "			q := r\n			clear(f.Deliver)\n			c.answerer.deliver(q)\n", []string{testFolders + "server"}},
	{"a notification that exits takes the others with it", "rdmaio/providers/internal/soft/mutex.go", "			go m.run(batch, next)\n", "			m.notifying = false\n", []string{"rdmaio/providers/internal/soft"}},
	{"a lock is not taken again after a notification has exited", "rdmaio/providers/internal/soft/mutex.go", "	defer m.Lock()\n	m.UnlockNotify()\n", "	m.UnlockNotify()\n	m.Lock()\n", []string{"rdmaio/providers/internal/soft"}},
	{"a Call whose goroutine ends keeps its slot", "rdmaio/call.go", "			c.exited(s, begun)\n", "			_ = begun\n", []string{testFolders + "server"}},
	{"a reader whose goroutine ends keeps its connection", "rdmaio/providers/internal/stream/receive.go", "		if !stopped {\n			rd.stopReading(c, errExited)\n		}\n", "", []string{testFolders + "server"}},
	{"counts are stale while functions run", "rdmaio/internal/driver/run.go", "			d.engine.ReadStats(&d.stats) // the queue may never be empty\n", "", driverTests},
	{"a Call takes a place beyond the credits (RDMA)", "rdmaio/slots.go", "n < l.most {", "n <= l.most {", rdmaSubmitTests},
	{"a place is lost when no Call waits (RDMA)", "rdmaio/slots.go", "		l.busy.Store(l.busy.Load() - 1)\n		return nil\n", "		return nil\n", rdmaSubmitTests},
	{"a Call that gives up its wait takes a place with it", "rdmaio/slots.go", "	case waits && l.line.has(s):\n", "	case false:\n", rdmaSubmitTests},
	{"a Call that was woken and gives up keeps its token", "rdmaio/slots.go", "		if waits { // it was woken, and gives up all the same\n			<-s.done\n		}\n", "", rdmaSubmitTests},
	{"the last that waits comes first", "rdmaio/slots.go", "	if next = l.line.first; next == nil {", "	if next = l.line.last; next == nil {", rdmaSubmitTests},
	{"Close does not wait for done functions (RDMA)", "rdmaio/slots.go", "	for l.out > 0 {\n		l.none.Wait()\n	}\n", "", rdmaSubmitTests},
	{"a Call that waits is not given up", "rdmaio/submit.go", "	case waiting:\n		c.drop(s, why)\n", "	case waiting:\n", rdmaSubmitTests},
	{"nothing wakes the functions of Calls that were given up", "rdmaio/submit.go", "		c.drop(s, why)\n		c.wake()\n", "		c.drop(s, why)\n", rdmaSubmitTests},
	{"a Call that was posted is not given up", "rdmaio/submit.go", "		c.driver.Queue(s.cancel())\n", "", rdmaSubmitTests},
	{"a Call that is given up while it is prepared is posted", "rdmaio/submit.go", "	if s.submit.why != nil {\n		l.mu.Unlock()\n		c.block(s, nil)\n		return\n	}\n", "", rdmaSubmitTests},
	{"Calls that wait outlive the connection", "rdmaio/submit.go", "		if s.state() == waiting {\n			c.drop(s, why)\n		}\n", "", rdmaSubmitTests},
	{"a Call begins on a lost connection", "rdmaio/submit.go", "	l.lost = why\n", "", rdmaSubmitTests},
	{"a place is not given on (RDMA)", "rdmaio/submit.go", "	c.waited(s)\n	c.begin(s)\n", "	c.waited(s)\n", rdmaSubmitTests},
	{"a Call that has waited has not", "rdmaio/submit.go", "	c.waited(s)\n	c.begin(s)\n", "	c.begin(s)\n", rdmaSubmitTests},
	{"a submitted Call does not make the provider read", "rdmaio/submit.go", "	c.lone.resume()\n", "", rdmaSubmitTests},
	{"a submitted Call counts for lone callers when it is over", "rdmaio/submit.go", "		c.lone.end()\n", "", rdmaSubmitTests},
	{"a refused shape is the end of a submitted Call", "rdmaio/submit.go", "; refused {\n", "; refused && false {\n", rdmaSubmitTests},
	{"the runner waits for a revocation", "rdmaio/call.go", "	if c.pool.Revokes() {\n		return false, nil\n	}\n", "	if c.pool.Revokes() {\n		return true, c.conclude(s)\n	}\n", rdmaKeysTests},
	{"a failed invalidation is tried again", "rdmaio/call.go", "		err := s.unended\n", "		err := error(nil)\n", rdmaKeysTests},
	{"an ended key is invalidated again", "rdmaio/call.go", "			s.regions = slices.Delete(s.regions, 0, i)\n", "", rdmaKeysTests},
	{"a submitted Call waits for memory where it is prepared", "rdmaio/replymemory.go", "		if o.now {\n			c.offered.replies.leave(w)\n			return errWaits\n		}\n", "", rdmaKeysTests},
	{"a Call is prepared before the version is known", "rdmaio/submit.go", "!o.terms.known || ", "", rdmaSubmitTests},
	{"the goroutine of a Call has no deadline", "rdmaio/submit.go", "	if at := s.rpc.Deadline; !at.IsZero() {\n		var", "	if at := s.rpc.Deadline; false {\n		var", rdmaSubmitTests},
	{"a function that exits loses the others", "rdmaio/submit.go", "			c.ran++\n			c.run(&e)\n", "			c.run(&e)\n			c.ran++\n", rdmaSubmitTests},

	// The part of a slot for memory that the peer gets.
	{"a Call that is given up changes what the engine reads", "rdmaio/call.go", "	s.withOffered().left = new(leftover)\n", "	s.lists()\n	s.withOffered().left = new(leftover)\n", []string{"rdmaio"}},
	{"the leftover of a Call is the next one's", "rdmaio/slots.go", "		s.left, s.long = nil, nil // long is the caller's\n", "		s.long = nil\n", []string{"rdmaio"}},
	{"the peer may return chunks that were not offered", requesterFile, "	if len(m.Writes) > 0 || m.HasReply {\n		c.WithOffer()", "	if false {\n		c.WithOffer()", engineTests},
	{"the padding of a Reply is lost", requesterFile, "r.Padding.Align != 0 {\n		c.WithOffer().Padding = r.Padding\n", "false {\n		c.WithOffer().Padding = r.Padding\n", engineTests},
	{"a batch of completions is several steps", "rdmaio/internal/driver/driver.go", "const polled = 64", "const polled = 32", driverTests},
}
