package main

var faultTests = []string{"rdmaio/verbs/wrap/fault"}

// wrapMutants are in the wrapper that injects faults: tests over it find what it makes happen.
var wrapMutants = []mutant{
	{"revocations outlive the connection", "rdmaio/verbs/wrap/fault/cause.go", "	q.endRevocations()\n	for _, cq", "	for _, cq", faultTests},
	{"a revocation after the end waits", "rdmaio/verbs/wrap/fault/revoke.go", "	if q.over || ", "	if ", faultTests},
	{"a revocation is reported twice", "rdmaio/verbs/wrap/fault/revoke.go", "		r.done(errors.Join(errs...)) // may", "		r.done(nil)\n		r.done(errors.Join(errs...)) // may", faultTests},
	{"a delayed completion waits for Arm only", "rdmaio/verbs/wrap/fault/cq.go", "len(c.deferred) > 0 && c.idle >= c.dev.inj.cfg.DelayPolls {", "false {", faultTests},
	{"a completion is delayed with the queue not armed", "rdmaio/verbs/wrap/fault/cq.go", "	if c.armed {\n", "	if false {\n", faultTests},
	{"what follows a closed queue pair forgets its faults", "rdmaio/verbs/wrap/fault/cq.go", "s != nil && (s.lost || s.failed) {", "s != nil && s.failed && s.lost {", faultTests},
	{"all kinds of faults have the same occasions", "rdmaio/verbs/wrap/fault/inject.go", "uint64(k) + 1, n}", "1, n}", faultTests},
	{"a batch's refusal hides what went before it", "rdmaio/verbs/wrap/fault/qp.go", "			return i, f.error()\n		}\n		if err := q.window", "			return done, f.error()\n		}\n		if err := q.window", faultTests},
	{"a fenced request behind a stalled Read runs", "rdmaio/verbs/wrap/fault/qp.go", "fires := q.stalled > 0 && wr.Flags&verbs.SendFence != 0", "fires := false", faultTests},
	{"requests stall without limit", "rdmaio/verbs/wrap/fault/qp.go", "	case q.stalled == q.room:", "	case q.stalled < 0:", faultTests},
	{"Receives behind a lost one arrive", "rdmaio/verbs/wrap/fault/qp.go", "		_, q.recvLost = q.dev.inj.occasion(LoseRecv)\n	}\n	return q.recvLost", "		_, q.recvLost = q.dev.inj.occasion(LoseRecv)\n		defer func() { q.recvLost = false }()\n	}\n	return q.recvLost", faultTests},
}
