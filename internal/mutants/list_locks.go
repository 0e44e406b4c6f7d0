package main

var (
	lockTests    = []string{"nfs/internal/locks"}
	managerTests = []string{"nfs/internal/nlm"}
)

const (
	lockTable   = "nfs/internal/locks/table.go"
	lockTree    = "nfs/internal/locks/tree.go"
	lockWaiters = "nfs/internal/locks/waiters.go"
	lockLimits  = "nfs/internal/locks/limits.go"
	nlmServer   = "nfs/internal/nlm/server.go"
	nlmCalls    = "nfs/internal/nlm/calls.go"
	nlmMonitor  = "nfs/internal/nlm/monitor.go"
	nlmRestart  = "nfs/internal/nlm/restart.go"
)

// lockMutants are in the table of locks.
var lockMutants = []mutant{
	{"locks that touch are not joined", lockTree, "n.First > r.Last && n.First-r.Last > 1", "n.First > r.Last", lockTests},
	{"an owner is in its own way", lockTree, "if n.owner != o && n.Last", "if n.Last", lockTests},
	{"shared locks conflict", lockTree, "(kind == allLocks || n.exclusive)", "true", lockTests},
	{"a subtree of several owners is passed over", lockTree, "				n.only[k] = several\n", "", lockTests},
	{"the last byte below a node is its own", lockTree, "			n.last[k] = max(n.last[k], c.last[k])\n", "", lockTests},
	{"UNLOCK takes the bytes after it", lockTable, "			if n.Last > r.Last {", "			if n.Last > r.Last && exclusive != nil {", lockTests},
	{"UNLOCK takes the bytes before it", lockTable, "			if n.First < r.First {", "			if n.First < r.First && exclusive != nil {", lockTests},
	{"UNLOCK cancels nothing", lockTable, "	t.forget(o, func(w *Waiter) bool { return w.Range == q.Range })\n", "", lockTests},
	{"UNLOCK wakes no request", lockTable, "	return t.wake(o.file, q.Range), nil\n}\n\n// Free", "	return nil, nil\n}\n\n// Free", lockTests},
	{"a client that starts again loses new locks", lockTable, "if keep != 0 && o.state == keep {", "if false {", lockTests},
	{"a client that starts again wakes no request", lockTable, "		granted = append(granted, t.wake(f, Range{0, End})...)\n", "		t.wake(f, Range{0, End})\n", lockTests},
	{"owners without locks stay", lockTable, "	delete(f.owners, o.process)\n	delete(c.owners, o)\n", "	return\n", lockTests},
	{"a range over the limit is locked in part", lockTable, "	if err := t.room(o.process.client.source, more); err != nil {\n		return err\n	}\n	for", "	for", lockTests},
	{"a downgrade wakes no request", lockWaiters, "append(granted, t.wake(o.file, q.Range)...), nil", "granted, nil", lockTests},
	{"a grant that makes a range shared wakes no request", lockWaiters, "				ranges = append(ranges, w.Range)\n", "", lockTests},
	{"a repeated LOCK waits twice", lockWaiters, "			o.file.waiters[i] = w\n			return Waiting, granted, nil\n", "			o.file.waiters[i] = w\n", lockTests},
	{"a late refusal takes the lock", lockWaiters, "	t.forget(o, same)\n	t.know(o, q.Range, &q.Exclusive)\n", "	t.forget(o, same)\n", lockTests},
	{"a refusal takes the former locks", lockWaiters, "	for _, was := range left {\n", "	for _, was := range left {\n		was.locked = false\n", lockTests},
	{"a refusal takes a lock that another owner has since", lockWaiters, "	for r := was.Range; ; {\n		n :=", "	for r := was.Range; ; {\n		n := (*node)(nil)\n		_ =", lockTests},
	{"a refusal takes the bytes of a later grant", lockWaiters, "		left = outside\n", "", lockTests},
	{"a grant that is refused comes back with the next", lockWaiters, "append(without(later.former, inside...), inside...)", "later.former", lockTests},
	{"an accepted grant is taken with an earlier one", lockWaiters, "		earlier.former = without(earlier.former, formerly{Range: w.Range})\n", "		_ = earlier\n", lockTests},
	{"a call for a part accepts all", lockWaiters, "		if len(w.former) == 0 {", "		if true {", lockTests},
	{"a part that is released cuts no grant", lockWaiters, "w.cut || exclusive == nil || w.Exclusive", "w.cut || w.Exclusive && exclusive != nil", lockTests},
	{"a process of another start keeps its locks", lockTable, "			t.clear(o)\n			granted", "			granted", lockTests},
	{"a request without a state is of another start", lockTable, "if q.State != 0 && o.state != 0 &&", "if", lockTests},
	{"CANCEL does not take a lock that was granted", lockWaiters, "		return t.revert(o.granted[i])\n", "		return nil\n", lockTests},
	{"those that wait have no order", lockWaiters, "		o.file.waiters = append(o.file.waiters, w)", "		o.file.waiters = slices.Insert(o.file.waiters, 0, w)", lockTests},
	{"any number of requests waits", lockWaiters, "usage{waiters: 1}); err != nil {", "usage{waiters: 0}); err != nil {", lockTests},
	{"the limits of all are not looked at", lockLimits, "t.used.locks, l.Locks}", "0, l.Locks}", lockTests},
	{"an exclusive lock of one owner hides others", lockTable, "	return exclusiveLocks\n", "	return allLocks\n", lockTests},
}

// managerMutants are in the lock manager.
var managerMutants = []mutant{
	{"a length of zero locks nothing but the last byte", nlmServer, "if l.Len > 0 {", "if true {", managerTests},
	{"a range that no file has is locked", nlmServer, "if l.Len-1 > math.MaxUint64-l.Offset {", "if false {", managerTests},
	{"locks are reclaimed at any time", nlmServer, "s.grace.Load() != args.Reclaim {", "s.grace.Load() && !args.Reclaim {", managerTests},
	{"new locks are granted in the grace period", nlmServer, "s.grace.Load() != args.Reclaim {", "!s.grace.Load() && args.Reclaim {", managerTests},
	{"TEST answers in the grace period", nlmServer, "	if s.grace.Load() {\n		return nlm4.TestReply", "	if false {\n		return nlm4.TestReply", managerTests},
	{"clients are not noted", nlmServer, "args *nlm4.LockArgs, monitored bool) nlm4.Status {\n", "args *nlm4.LockArgs, monitored bool) nlm4.Status {\n	monitored = false\n", managerTests},
	{"a server that is closed forgets clients that may reclaim", nlmServer, "	if s.grace.Load() { // those", "	if false { // those", managerTests},
	{"GRANTED has the memory of LOCK", nlmServer, "bytes.Clone(l.CallerName), bytes.Clone(l.FH), bytes.Clone(l.Owner)", "l.CallerName, l.FH, l.Owner", managerTests},
	{"a file that is not of the server is locked", nlmServer, "	if status != nlm4.StatusGranted {\n		return status\n	}\n	q.State", "	q.State", managerTests},
	{"a client that refuses has the lock", nlmCalls, "		c.grant(s.table.Rejected(j.waiter))\n	}\n	return over, nil", "		s.table.Accepted(j.waiter)\n	}\n	return over, nil", managerTests},
	{"a client in its grace period loses the lock", nlmCalls, "		return over, errGrace\n", "		c.grant(s.table.Rejected(j.waiter))\n", managerTests},
	{"a client that is gone keeps the lock", nlmCalls, "		c.grant(c.server.table.Rejected(j.waiter))\n", "", managerTests},
	{"a client is tried once", nlmCalls, "over := j.waiter == nil || time.Now().After(j.until)", "over := true", managerTests},
	{"a refusal after a lost reply takes the lock", nlmCalls, "|| j.sent: // a client", ": // a client", managerTests},
	{"a call that did not run may have given the lock", nlmCalls, "errors.As(err, &failed) && failed.MayHaveRun", "errors.As(err, &failed)", managerTests},
	{"a grant that is cut is called", nlmCalls, "	case !s.table.Cut(j.waiter):\n", "	case true:\n", managerTests},
	{"a client loses a lock that it may have", nlmCalls, "	case j.sent:\n		s.table.Accepted(j.waiter)\n", "", managerTests},
	{"calls that are over are kept", nlmCalls, "if len(e.jobs) > 2*e.left {", "if false {", managerTests},
	{"any client reclaims locks", nlmServer, "args.Reclaim && !s.monitor.has(q.Client) {", "false {", managerTests},
	{"a client that is denied is noted", nlmServer, "		} else if !may {\n			return nlm4.StatusDenied\n", "		} else if !may {\n			_ = q\n", managerTests},
	{"a client too many is noted", nlmServer, "args.Reclaim); err != nil {\n			return s.noRoom(err)\n		} else", "args.Reclaim); err != nil {\n			_ = q\n		} else", managerTests},
	{"a client that locks is forgotten at the end of the grace period", nlmMonitor, "func (m *monitor) settle(have func() []locks.Client) error {\n", "func (m *monitor) settle(have func() []locks.Client) error {\n	all := have()\n	have = func() []locks.Client { return all }\n", managerTests},
	{"results take turns of GRANTED", nlmCalls, "		turns = c.results\n", "		turns = c.turns\n", managerTests},
	{"a network has results for any hosts", nlmCalls, "same >= maxSourceCallees || ", "", managerTests},
	{"any host frees the locks of a name", nlmRestart, "if c.Host == from.Host && firstLabel", "if firstLabel", managerTests},
	{"a name frees the locks of its host", nlmRestart, "if c.Host == from.Host && firstLabel(c.Name) == firstLabel(from.Name) {", "if c.Host == from.Host {", managerTests},
	{"a domain is another host", nlmRestart, "	label, _, _ := strings.Cut(strings.ToLower(name), \".\")\n	return label", "	return strings.ToLower(name)", managerTests},
	{"the grace period has no end", nlmRestart, "		s.grace.Store(false)\n", "", managerTests},
	{"SM_NOTIFY frees new locks", nlmRestart, "		s.free(r, args, args.State)\n", "		s.free(r, args, 0)\n", managerTests},
	{"each start has the same number", nlmMonitor, "			m.start += 2\n", "", managerTests},
	{"a line that was cut is a client", nlmMonitor, "	text = text[:bytes.LastIndexByte(text, '\\n')+1]\n", "	text = bytes.TrimSuffix(text, []byte(\"\\n\"))\n", managerTests},
	{"a client that is not in the file is noted", nlmMonitor, "		return m.broken(err)\n	}\n	if err := m.file.Sync()", "		m.noted[c] = true\n		return m.broken(err)\n	}\n	if err := m.file.Sync()", managerTests},
	{"a file that grows forgets the former clients", nlmMonitor, "		for _, c := range m.former { // may still reclaim\n			keep[c] = true\n		}\n", "", managerTests},
	{"a call that failed keeps its turn", nlmCalls, "		e.jobs = append(e.jobs[1:n:n], e.jobs[0])\n", "		_ = n\n", managerTests},
	{"calls are made after their time", nlmCalls, "j.waiter == nil || time.Now().After(j.until)", "j.waiter == nil", managerTests},
}
