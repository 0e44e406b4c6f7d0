package main

// carrierMutants are in how the carriers over sockets read and keep Calls.
var carrierMutants = []mutant{
	// The read buffer of a connection over TCP.
	{"a connection that rests keeps its read buffer", "runtime/oncrpc/tcp/input.go", "		in.rest()\n", "", tcpTests},
	{"a part of a mark is lost in a wait", "runtime/oncrpc/tcp/input.go", "		copy(in.few[:], in.memory[in.from:in.to])\n", "", tcpTests},
	{"a read buffer with bytes is given back", "runtime/oncrpc/tcp/input.go", "in.pooled != nil && n <= markSize {", "in.pooled != nil {", tcpTests},
	{"a server has any number of large read buffers", "runtime/oncrpc/tcp/input.go", "in.large.Add(1) > mostLarge {", "in.large.Add(1) < 0 {", tcpTests},
	{"small read buffers count as large ones", "runtime/oncrpc/tcp/input.go", "len(*p) == largeBuffer {", "len(*p) >= readBuffer {", tcpTests},
	{"a read after a long record is long", "runtime/oncrpc/tcp/input.go", "	if !in.short {\n", "	if false {\n", tcpTests},
	{"all records count as long", "runtime/oncrpc/tcp/record.go", "fragments, len(buf) < readBuffer", "fragments, len(buf) < 0", tcpTests},
	{"a long read is copied", "runtime/oncrpc/tcp/input.go", "		if len(b) >= readBuffer {\n", "		if len(b) < 0 {\n", tcpTests},
	{"a connection that is down keeps its read buffer", "runtime/oncrpc/tcp/conn.go", "	c.in.r.release()\n", "", tcpTests},

	// Answers that are written together.
	{"the memory of a Request that is used again is lost", "runtime/oncrpc/tcp/request.go", "		r.spare = memory\n", "", tcpTests},
	{"spare memory has the record before", "runtime/oncrpc/tcp/request.go", "	case r.conn.reuses:\n		*memory = (*memory)[:0]\n", "	case r.conn.reuses:\n", tcpTests},
	{"one answer of a batch is uncounted", "runtime/oncrpc/tcp/request.go", "		m.request.uncount()\n	}\n", "		m.request.uncount()\n		break\n	}\n", tcpTests},

	// Calls over UDP are records.
	{"a datagram's Call takes a place beyond MaxCalls", "runtime/oncrpc/udp/call.go", "	if c.places == c.set.MaxCalls {", "	if c.places == c.set.MaxCalls+1 {", udpTests},
	{"a datagram's Call that is over keeps its place", "runtime/oncrpc/udp/call.go", "		c.places--\n", "", udpTests},
	{"Calls without a place are not sent", "runtime/oncrpc/udp/call.go", "	c.conclude(p, nil)\n	c.mu.Unlock()\n	c.proceed()\n", "	c.conclude(p, nil)\n	c.mu.Unlock()\n	c.finished.Deliver()\n", udpTests},
	{"a reply answers a Call that waits for a place", "runtime/oncrpc/udp/call.go", " || p == nil || p.waits {", " || p == nil {", udpTests},
	{"a report of the network fails Calls that wait", "runtime/oncrpc/udp/call.go", "		if !p.waits {\n			c.conclude", "		if true {\n			c.conclude", udpTests},
	{"a Call is over during Renew", "runtime/oncrpc/udp/call.go", "	if !p.renewing {\n", "	if true {\n", udpTests},
	{"a Call that ended during Renew is never over", "runtime/oncrpc/udp/datagram.go", "		c.settle(p)\n", "", udpTests},
	{"Close does not wait for Renew", "runtime/oncrpc/udp/client.go", "for c.renewals > 0 || c.finished.Busy() {", "for c.finished.Busy() {", udpTests},
	{"Close does not wait for done functions over UDP", "runtime/oncrpc/udp/client.go", "for c.renewals > 0 || c.finished.Busy() {", "for c.renewals > 0 {", udpTests},
	{"a submitted Call over UDP has no context", "runtime/oncrpc/udp/call.go", "		c.contexts.Watch(p.ctx, p, &p.watched)\n", "", udpTests},
	{"a submitted Call over UDP has no deadline", "runtime/oncrpc/udp/call.go", "			c.deadlines.Add(at, p, &p.due)\n", "", udpTests},
	{"a panic in a done function leaves a Conn over UDP up", "runtime/oncrpc/udp/call.go", "	c.down(err)\n", "", udpTests},
	{"a Call that was answered is sent again", "runtime/oncrpc/udp/call.go", "	c.resends.Remove(&p.again)\n", "", udpTests},
	{"the pause between transmissions stays", "runtime/oncrpc/udp/datagram.go", "p.pause = min(2*p.pause, c.set.MaxRetransmit)", "p.pause = min(p.pause, c.set.MaxRetransmit)", udpTests},
	{"a Call that could not be sent may have run", "runtime/oncrpc/udp/datagram.go", "			d.of.times = 0 // it was not sent\n", "", udpTests},
	{"a Call that could not be sent stays in progress", "runtime/oncrpc/udp/call.go", "	c.remove(d.of)\n	return true\n", "	return true\n", udpTests},

	// Marked procedures over UDP.
	{"a procedure over UDP that has blocked does so again", "runtime/oncrpc/udp/inline.go", " || s.blocks.Has(prog, vers, proc)", "", udpTests},
	{"two goroutines read datagrams", "runtime/oncrpc/udp/inline.go", "	reads = s.inline.End(run)\n", "	reads = s.inline.End(run) || true\n", udpTests},
	// Ends of Calls that are sent again over UDP.
	{"a Renew that exits keeps its Call", "runtime/oncrpc/udp/datagram.go", "		c.renewed(p, err)\n	}()\n", "		if returned {\n			c.renewed(p, err)\n		}\n	}()\n", udpTests},
	{"Renew outlives the deadline of its Call", "runtime/oncrpc/udp/datagram.go", "p.finished != nil && !at.IsZero() {", "p.finished != nil && at.IsZero() {", udpTests},
	{"a write that fails withdraws a Call that is sent again", "runtime/oncrpc/udp/call.go", "!c.has(d) || d.of.times > 1 || d.of.renewing {", "!c.has(d) {", udpTests},
	{"a cancelled Call runs functions of others", "runtime/oncrpc/udp/call.go", "		c.mu.Unlock()\n		go c.proceed() // not here: the caller may have locks\n		<-p", "		c.mu.Unlock()\n		c.proceed()\n		<-p", udpTests},
	{"a size without the results is one of the reply", "runtime/oncrpc/rpc/call.go", "					p.call.WholeReply = 0\n", "", rpcTests},
}
