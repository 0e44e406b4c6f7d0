package main

const (
	machineFile  = "internal/reconnect/machine/machine.go"
	linkFile     = "internal/reconnect/machine/link.go"
	reconnecting = "internal/reconnect/pool.go"
)

var (
	machineTests   = []string{"internal/reconnect/machine"}
	reconnectTests = []string{"internal/reconnect"}
)

// reconnectMutants are in the connections of a Client, over every carrier.
var reconnectMutants = []mutant{
	{"pauses grow before the first connection", machineFile, "		if m.isUntried() {\n			m.first = backoff{}\n		}\n", "", machineTests},
	{"the first failure is waited through", machineFile, "	case m.isUntried():\n		return 0\n", "", machineTests},
	{"WaitForServer has no effect", machineFile, " && !m.rules.WaitForServer", "", machineTests},
	{"a rejection is not a failure to connect", machineFile, "	if ev.Refused {", "	if false {", machineTests},
	{"a refused connection resets the row of failures", machineFile, "		m.inRow = max(m.inRow, l.inRow)\n", "", machineTests},
	{"a refused connection is a first connection", machineFile, "		m.good--\n", "", machineTests},
	{"a Client that is closed logs a failure", machineFile, "	if !m.closed {\n		fx.Failure", "	if true {\n		fx.Failure", machineTests},
	{"a connection with Calls is idle", linkFile, "	if l.calls == 0 {\n		left", "	if l.calls >= 0 {\n		left", machineTests},
	{"a connection for reverse Calls is idle", machineFile, "m.rules.IdleTimeout > 0 && !m.rules.Keeps", "m.rules.IdleTimeout > 0", machineTests},
	{"a lost connection for reverse Calls is not replaced", machineFile, "m.rules.Keeps && m.stats.Connects > 0 &&", "m.rules.Keeps && m.stats.Connects == 0 &&", machineTests},
	{"a Client for reverse Calls fills up (machine)", machineFile, " || n == 0 && m.keeps()", " || m.keeps()", machineTests},
	{"two attempts at a time", machineFile, "	if m.closed || m.dialling || n", "	if m.closed || n", machineTests},
	{"one connection too many (machine)", machineFile, "n >= m.rules.Connections ||", "n > m.rules.Connections ||", machineTests},
	{"an attempt begins before it is known whether the last connection was useful", machineFile, " || len(m.ending) > 0 {", " {", machineTests},
	{"an attempt begins while a lost connection has not ended", machineFile, "			return false // Ended will come", "			continue", machineTests},
	{"an attempt begins during the pause", machineFile, "m.dialling = !b.pauses(now); m.dialling", "m.dialling = true; m.dialling", machineTests},
	{"attempts share one pause", machineFile, "		if m.isUp() {\n			b = &m.more\n		}\n", "", machineTests},
	{"the other pause is logged (machine)", machineFile, "	b := &m.more\n	if !further {\n		b = &m.first", "	b := &m.first\n	if !further {\n		b = &m.more", machineTests},
	{"a failure to make a further connection fails Calls", machineFile, "	if m.isUp() {\n		return false\n	}\n	if m.rules", "	if m.rules", machineTests},
	{"a failure that comes each time is waited through", machineFile, "(m.rules.Lasting(m.failed) || n > m.patience())", "n > m.patience()", machineTests},
	{"earlier failures count for a Call", machineFile, "	c.failures = m.failures\n", "", machineTests},
	{"one failure too many is waited through", machineFile, "n > m.patience())", "n > m.patience()+1)", machineTests},
	{"a Call fails before it is known whether there must be a pause", machineFile, "len(m.links)+len(m.ending) == 0 && m.first", "m.first", machineTests},
	{"a turn is made twice in a row", machineFile, "	turned = turned && !m.turned\n", "", machineTests},
	{"a turn long ago counts (machine)", machineFile, "	switch m.turned = turned; {", "	switch m.turned = turned || m.turned; {", machineTests},
	{"no pause follows a useless connection", machineFile, "		why = errUseless", "		why = nil", machineTests},
	{"no pause follows a short connection", machineFile, "		why = errShort", "		why = nil", machineTests},
	{"a further connection is useful by others (machine)", machineFile, "	if !l.further {\n		useful", "	if true {\n		useful", machineTests},
	{"useful connections are not counted (machine)", machineFile, "		m.useful++\n", "", machineTests},
	{"the end of an idle connection is a failure", machineFile, "l.idle || ev.Useful", "ev.Useful", machineTests},
	{"a further connection does not end its pauses (machine)", machineFile, "		if further {\n			m.more = backoff{}\n		}\n", "", machineTests},
	{"the first connection resets the pauses of further ones (machine)", machineFile, "		if further {\n			m.more = backoff{}\n		}\n", "		m.more = backoff{}\n", machineTests},
	{"a new connection keeps the old failure (machine)", machineFile, "m.failed, m.further, m.inRow = nil, false, 0", "m.further, m.inRow = false, 0", machineTests},
	{"a new connection leaves a further one wanted (machine)", machineFile, "m.failed, m.further, m.inRow = nil, false, 0", "m.failed, m.inRow = nil, 0", machineTests},
	{"a failed attempt is wanted again", machineFile, "	m.further = false\n	turned", "	turned", machineTests},
	{"a dropped connection counts as lost", machineFile, "	} else if m.drop(ev.Conn); !m.closed {\n		m.stats.Lost++\n	}", "	} else {\n		m.drop(ev.Conn)\n	}\n	m.stats.Lost++", machineTests},
	{"a connection after Close stays", machineFile, "	if m.closed {\n		m.close(fx)\n	}\n", "", machineTests},
	{"a Call during Close waits", machineFile, "	for _, c := range m.queue {\n		c.over(m.rules.Closed, fx)\n	}\n", "", machineTests},
	{"the end of a Call's context comes before its connection", machineFile, "	i := slices.Index(m.queue, c)\n	if i < 0 {\n		return\n	}\n	m.queue = slices.Delete(m.queue, i, i+1)", "	m.queue = slices.DeleteFunc(m.queue, func(o *Call[C]) bool { return o == c })", machineTests},
	{"a newcomer passes the queue (machine)", machineFile, "m.closed || len(m.queue) > 0 {\n		return conn", "m.closed {\n		return conn", machineTests},
	{"a third Call makes a second connection (machine)", machineFile, "l.calls > 1 && len", "l.calls > 2 && len", machineTests},
	{"Calls that waited want no further connection", linkFile, "		m.further = m.further || m.isCrowded(l)\n", "", machineTests},
	{"ended connections take Calls", linkFile, "	return l.isUp() && (m.rules", "	return (m.rules", machineTests},
	{"a Call gets a connection without room", linkFile, "l.calls < m.rules.Room(l.conn))", "true)", machineTests},
	{"a single connection has room", linkFile, "m.rules.Connections == 1 || ", "", machineTests},
	{"Calls use the connection with the most Calls (machine)", linkFile, "l.calls < best.calls", "l.calls > best.calls", machineTests},
	{"a Call that returns serves no other (machine)", machineFile, "		if len(m.queue) == 0 { // nothing", "		if true { // nothing", machineTests},
	{"the idle time begins with the connection", linkFile, "			l.used = now\n", "", machineTests},
	{"a lost connection is idle", linkFile, "		case !l.isUp():\n			l.idleAt, l.lookAt = time.Time{}, time.Time{} // Ended will come\n			continue\n", "", machineTests},
	{"an idle connection counts as stuck", linkFile, "l.idle, count = true, &m.stats.IdleCloses", "l.idle = true", machineTests},
	{"a connection is given up before StuckTimeout (machine)", linkFile, "return h.times > 2", "return h.times > 1", machineTests},
	{"a connection is given up late (machine)", linkFile, "return h.times > 2", "return h.times > 3", machineTests},
	{"a stall that ended counts for the next (machine)", linkFile, "		h.times = 0\n", "", machineTests},
	{"messages count at each look", linkFile, "	h.received = now.Received\n", "", machineTests},
	{"pauses between attempts are all the same", linkFile, "b.last - r.Random(b.last/2)", "b.last", machineTests},
	{"a pause has no limit", linkFile, "min(max(2*b.last, r.MinBackoff), r.MaxBackoff)", "max(2*b.last, r.MinBackoff)", machineTests},
	{"pauses do not grow", linkFile, "max(2*b.last, r.MinBackoff)", "r.MinBackoff", machineTests},
	{"a connection that ended is not closed", reconnecting, "	if err := conn.Close(); err != nil { // it", "	if err := error(nil); err != nil { // it", reconnectTests},
	{"a connection that Connected refuses stays", reconnecting, "errors.Join(err, conn.Close())", "errors.Join(err)", reconnectTests},
	{"an attempt to connect has no limit", reconnecting, "	if p.cfg.DialTimeout > 0 {", "	if p.cfg.DialTimeout < 0 {", reconnectTests},
	{"a Call whose context is done waits for its connection", reconnecting, "	case <-ctx.Done():\n		p.step(", "	case <-p.ctx.Done():\n		p.step(", reconnectTests},
	{"the timer is set once", reconnecting, "	default:\n		p.timer.Reset(time.Until(at))", "	default:", reconnectTests},
	{"a Client does not notice the end of a connection", reconnecting, "	case <-conn.Done():\n", "	case <-p.ctx.Done():\n", reconnectTests},

	{"Calls of the server are not a sign of life", "runtime/oncrpc/tcp/request.go", "	c.seen.Received++\n", "", tcpTests},
	{"replies are not a sign of life", "runtime/oncrpc/tcp/call.go", "	c.seen.Received++\n", "", tcpTests},
	{"a long record is not a sign of life", "runtime/oncrpc/tcp/record.go", "			rd.parts.Add(1)\n", "", tcpTests},
	{"a rejection by a TCP server is a connection", "runtime/oncrpc/tcp/client.go", "return hasNotRun(conn.Err()) }", "return false }", tcpTests},
	{"a TCP Client has no limit for a stuck connection", "runtime/oncrpc/tcp/client.go", "	duration(&c.StuckTimeout, time.Minute)\n", "", tcpTests},
	{"a TCP Client waits through failures of TLS", "runtime/oncrpc/tcp/client.go", "return errors.Is(err, ErrTLS) }", "return false }", tcpTests},
	{"DialFailures has no effect over TCP", "runtime/oncrpc/tcp/client.go", "	if cfg.DialFailures == 0 {", "	if cfg.DialFailures >= 0 {", tcpTests},
}
