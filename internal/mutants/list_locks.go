package main

var lockTests = []string{"nfs/internal/locks"}

const (
	lockTable   = "nfs/internal/locks/table.go"
	lockTree    = "nfs/internal/locks/tree.go"
	lockWaiters = "nfs/internal/locks/waiters.go"
	lockLimits  = "nfs/internal/locks/limits.go"
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
	{"a client that starts again wakes no request", lockTable, "		granted = append(granted, t.wake(f, Range{0, End})...)\n", "", lockTests},
	{"owners without locks stay", lockTable, "	delete(f.owners, o.process)\n	delete(c.owners, o)\n", "	return\n", lockTests},
	{"a range over the limit is locked in part", lockTable, "	if err := t.room(o.process.client.source, more); err != nil {\n		return err\n	}\n	for", "	for", lockTests},
	{"a downgrade wakes no request", lockWaiters, "	return Granted, t.wake(o.file, q.Range), nil", "	return Granted, nil, nil", lockTests},
	{"a grant that makes a range shared wakes no request", lockWaiters, "				ranges = append(ranges, w.Range)\n", "", lockTests},
	{"a repeated LOCK waits twice", lockWaiters, "			o.file.waiters[i] = w\n			return Waiting, nil, nil\n", "			o.file.waiters[i] = w\n", lockTests},
	{"a late refusal takes the lock", lockWaiters, "	t.forget(o, same)\n	t.know(o, q.Range)\n", "	t.forget(o, same)\n", lockTests},
	{"a refusal takes the former locks", lockWaiters, "	for _, was := range w.former {", "	for _, was := range w.former[:0] {", lockTests},
	{"CANCEL does not take a lock that was granted", lockWaiters, "		return t.revert(o.granted[i])\n", "		return nil\n", lockTests},
	{"those that wait have no order", lockWaiters, "		o.file.waiters = append(o.file.waiters, w)", "		o.file.waiters = slices.Insert(o.file.waiters, 0, w)", lockTests},
	{"any number of requests waits", lockWaiters, "usage{waiters: 1}); err != nil {", "usage{waiters: 0}); err != nil {", lockTests},
	{"the limits of all are not looked at", lockLimits, "t.used.locks, l.Locks}", "0, l.Locks}", lockTests},
	{"an exclusive lock of one owner hides others", lockTable, "	return exclusiveLocks\n", "	return allLocks\n", lockTests},
}
