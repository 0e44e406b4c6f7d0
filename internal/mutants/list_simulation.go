package main

// simulationMutants are in the asynchronous form of Calls, the driver and the lone caller. The
// simulation of connections finds them.
var (
	simulationMutants = []mutant{
		{"a lone caller stops reading while Calls wait", "rdmaio/lone.go", "	s.polling.Store(false)\n	if l.calls.Load() > 1 {", "	s.polling.Store(false)\n	if false {", simulationTests},
		{"a second Call does not make the provider read", "rdmaio/lone.go", "s.movesData() {\n		l.qp.Resume()\n", "s.movesData() {\n", simulationTests},
		{"an end is reported twice", "rdmaio/submit.go", "c.running, l.ends, c.ran = l.ends, c.running[:0], 0", "c.running, c.ran = l.ends, 0", simulationTests},
		{"a submitted Call that was given up was never sent", "rdmaio/submit.go", "	cause := c.answered(s, s.submit.why)\n", "	cause := c.answered(s, s.submit.why)\n	s.call.Sent = s.call.Sent && s.submit.why == nil\n", simulationTests},
		{"the keys of a submitted Call stay valid", "rdmaio/submit.go", "	ok, err := c.concludeNow(s)\n", "	ok, err := true, error(nil)\n", simulationTests},
		{"a failed Call was never sent", "rdmaio/call.go", "	s.sent = s.sent || s.call.Sent && !notProcessed(cause)\n", "	s.sent = false\n", simulationTests},
		{"an event in the queue waits for the next one", "rdmaio/internal/driver/run.go", "	if d.running || d.engine == nil {\n		return\n	}\n	d.running = true\n	go d.own()", "	if d.running || d.engine == nil || len(d.queue) < 2 {\n		return\n	}\n	d.running = true\n	go d.own()", simulationTests},
		{"Close returns while done functions run (RDMA)", "rdmaio/slots.go", "		l.none.Wait()\n", "		l.out = 0\n", simulationTests},
		{"a deadline is forgotten when a Call is posted", "rdmaio/submit.go", "	s.submit.state = posted\n", "	s.submit.state = posted\n	l.deadlines.Remove(&s.submit.due)\n", simulationTests},
		{"a refused submitted Call is not made again", "rdmaio/submit.go", "; refused {\n", "; !refused {\n", simulationTests},
	}
	simulationTests = []string{testFolders + "simulation"}
)
