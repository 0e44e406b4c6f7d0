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
	{"manner: fences are passed by Writes", "rdmaio/verbs/wrap/fault/outstanding.go", " && (to == from || wrs[to].Flags&verbs.SendFence == 0) {", " {", faultTests},
	{"manner: Writes with completions of their own are shuffled", "rdmaio/verbs/wrap/fault/outstanding.go", "\t\t\tif to++; wrs[to-1].Flags&verbs.SendSignaled != 0 {\n\t\t\t\tbreak\n\t\t\t}", "\t\t\tto++", faultTests},
	{"manner: a late key still works", "rdmaio/verbs/wrap/fault/outstanding.go", "\t\t\t\twr.RKey = 0\n", "", faultTests},
	{"manner: a late report makes a region valid", "rdmaio/verbs/wrap/fault/keys.go", "= !mr.keyed.ended", "= true", faultTests},
	{"manner: registrations are not counted in keys", "rdmaio/verbs/wrap/fault/keys.go", "\t\tmr.keyed.count++\n", "", faultTests},
	{"manner: the reason of an end changes", "rdmaio/verbs/wrap/fault/cause.go", "\tif e.reason == nil {", "\tif true {", faultTests},
	{"manner: Close does not notify of a late end", "rdmaio/verbs/wrap/fault/qp.go", "\tif q.end.tell() {\n\t\tq.tellEnd()\n\t}", "\tq.end.tell()", faultTests},
	{"manner: an unsignaled Send that fails succeeds", "rdmaio/verbs/wrap/fault/completion.go", "\t\tif q.qp.outstanding.signaled(wc.WRID) {", "\t\tif true {", faultTests},
	{"manner: a region more than there are", "rdmaio/verbs/wrap/fault/memory.go", "n > int64(most) {", "n > int64(most)+1 {", faultTests},
}
