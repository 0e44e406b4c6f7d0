package main

const monitorDir = "runtime/oncrpc/monitor/"

var monitorTests = []string{"runtime/oncrpc/monitor"}

// monitorMutants are in the live page, and in what it records.
var monitorMutants = []mutant{
	{"a recording has no end", monitorDir + "monitor.go", "	if !time.Now().Before(m.until) {\n", "	if false {\n", monitorTests},
	{"a look at the end of a recording is lost", monitorDir + "monitor.go", "	if !time.Now().Before(m.until) {\n", "	if true {\n", monitorTests},
	{"outcomes that a peer makes up are kept apart", monitorDir + "serve.go", "refused.Reject == oncrpc.AuthError && !refused.Auth.Valid():", "refused.Reject == oncrpc.AuthError && false:", monitorTests},
	{"a connection's peer is hidden", monitorDir + "make.go", "		return &conversation{made, p}\n", "		_ = p\n", monitorTests},
	{"the page answers foreign names", "cmd/rpcrdma/web.go", "host != \"localhost\" && host != at", "false", []string{"cmd/rpcrdma"}},
	{"a look does not prolong the recording", monitorDir + "monitor.go", "			m.end.Reset(keep)\n", "			_ = m.end\n", monitorTests},
	{"a second recording has the time of the first", monitorDir + "monitor.go", "	if !m.on.Load() {\n		m.since = time.Now()\n", "	if !m.on.Load() {\n		m.since = m.since.Add(0)\n", monitorTests},
	{"a second answer is counted", monitorDir + "progress.go", "	if !c.listed {\n		return nil\n	}\n", "", monitorTests},
	{"a call that is over stays in progress", monitorDir + "progress.go", "	m.progress.remove(c)\n", "	c.listed = false\n", monitorTests},
	{"a handler that panics leaves its call", monitorDir + "serve.go", "			h.m.finish(&o.call, \"panic\", 0)\n", "			_ = h\n", monitorTests},
	{"a caller's name is hidden", monitorDir + "serve.go", "		r.Responder = authenticated{o, a}\n", "		_ = a\n		r.Responder = o\n", monitorTests},
	{"a reply that was lost was sent", monitorDir + "serve.go", "		if err == nil {\n			took", "		if true {\n			took", monitorTests},
	{"others of both sides are counted together", monitorDir + "counts.go", "		i = 1\n", "		i = 0\n", monitorTests},
	{"procedures are not limited", monitorDir + "counts.go", "	if len(c.of) < c.most {\n", "	if true {\n", monitorTests},
	{"a call that could not begin stays in progress", monitorDir + "make.go", "	if err != nil {\n		c.end(made, of, nil, err)\n	}\n", "", monitorTests},
	{"items are not counted", monitorDir + "make.go", "			received += len(it.Data)\n", "			_ = it\n", monitorTests},
	{"records are not limited", monitorDir + "log.go", "	if len(r.records) == r.most {\n", "	if false {\n", monitorTests},
	{"a text is not limited", monitorDir + "log.go", "		if len(text) > maxText {\n", "		if false {\n", monitorTests},
	{"a source that was stopped is shown", monitorDir + "source.go", "return other == n }", "return false }", monitorTests},
	{"connections that wait come last", monitorDir + "source.go", "cmp.Compare(number(w.FieldByIndex(index)), number(v.FieldByIndex(index)))", "cmp.Compare(number(v.FieldByIndex(index)), number(w.FieldByIndex(index)))", monitorTests},
	{"all connections are shown", monitorDir + "snapshot.go", "		q.Most = mostConns\n", "		_ = mostConns\n", monitorTests},
	{"the page takes a POST", monitorDir + "page.go", "	if r.Method != http.MethodGet && r.Method != http.MethodHead {\n", "	if false {\n", monitorTests},
	{"the page may run any script", monitorDir + "page.go", "script-src '\" +\n	hashOf(\"script\") + \"'", "script-src 'unsafe-inline\" +\n	hashOf(\"x\")[:0] + \"'", monitorTests},
	{"a look at the page shortens the recording of a collector", monitorDir + "monitor.go", "until.After(m.until) {", "true {", monitorTests},
	{"peers take the places of known procedures", monitorDir + "counts.go", "known || c.made < c.most-c.kept {", "true {", monitorTests},
	{"peers are not limited", monitorDir + "peers.go", "	if len(p.of) >= p.most {\n", "	if false {\n", monitorTests},
	{"a label has invalid text", monitorDir + "peers.go", "			if !unicode.IsPrint(r) {\n", "			if !unicode.IsPrint(r) && false {\n", monitorTests},
	{"a label has any length", monitorDir + "peers.go", "	if len(name) <= maxName {\n", "	if true {\n", monitorTests},
	{"equal labels are two points", monitorDir + "metrics.go", "	if !ok {\n", "	if !ok || true {\n", monitorTests},
	{"a sum falls when a connection has gone", monitorDir + "sourcemetrics.go", "			values[i] += t.sum[i]\n", "			values[i] += t.sum[i]\n			t.sum[i] = 0\n", monitorTests},
	{"a new connection counts from the old one", monitorDir + "sourcemetrics.go", "last == nil || v[i] < last[i]:", "last == nil:", monitorTests},
	{"a time is in the bucket before", monitorDir + "metrics.go", "(i-1)/4+1-metricFirst", "(i-1)/4-metricFirst", monitorTests},
	{"a call keeps the memory of the monitor", monitorDir + "make.go", "		of.Steps = nil\n", "		_ = of\n", monitorTests},
	{"a late Sent makes a part negative", monitorDir + "counts.go", "	if sent.After(s.Answered) { // the write had not returned\n", "	if false {\n", monitorTests},
	{"text of a label is not escaped", monitorDir + "text.go", "valueEscapes.Replace(value)", "value", monitorTests},
	{"over TCP a call that waits has its place", "runtime/oncrpc/tcp/submit.go", "	c.send(next)\n", "	c.conn.enqueue(&next.out)\n", monitorTests},
	{"over UDP a call has no place", "runtime/oncrpc/udp/call.go", "		s.Placed = time.Now()\n", "		_ = s\n", monitorTests},
	{"over RDMA a call that was submitted has no place", "rdmaio/submit.go", "	placed(s.rpc)\n", "", monitorTests},
	{"a bucket ends too late", monitorDir + "times.go", "	return time.Duration(4+i%4) <<", "	return time.Duration(5+i%4) <<", monitorTests},
	{"the longest time is forgotten", monitorDir + "times.go", "	t.Max = max(t.Max, d)\n", "", monitorTests},
}
