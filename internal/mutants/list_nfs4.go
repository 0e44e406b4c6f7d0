package main

var sessionTests = []string{"nfs/nfs4"}

const (
	nfs4Compound  = "nfs/nfs4/compound.go"
	nfs4Session   = "nfs/nfs4/session.go"
	nfs4Establish = "nfs/nfs4/establish.go"
	nfs4Renew     = "nfs/nfs4/renew.go"
	nfs4Callback  = "nfs/nfs4/callback.go"
	nfs4Slots     = "nfs/nfs4/slots.go"
)

// nfs4Mutants are in the sessions of NFS version 4.1.
var nfs4Mutants = []mutant{
	{"more results than operations", nfs4Compound, "	if n > ops {\n", "	if false {\n", sessionTests},
	{"a result for another operation", nfs4Compound, "	if found != op && !illegal {", "	if false {", sessionTests},
	{"a COMPOUND with another status than its last result", nfs4Compound, "n > 0 && status != last:", "false:", sessionTests},
	{"SEQUENCE for another session", nfs4Session, "	case res.SessionID != args.SessionID:\n", "	case false:\n", sessionTests},
	{"a client that was dropped keeps its session", nfs4Session, "nfs42ext.StatusStaleClientid, nfs42ext.StatusExpired, ", "nfs42ext.StatusStaleClientid, ", sessionTests},
	{"a delayed SEQUENCE takes the next sequence ID", nfs4Session, "		return kept, again\n", "		return consumed, again\n", sessionTests},
	{"a COMPOUND that changed something is made again after a delay", nfs4Session, "&& c.repeatable(refused.Index) {", "{", sessionTests},
	{"a COMPOUND that may have run is made again on the next session", nfs4Session, "			case ran && !c.repeatable(len(c.ops)):", "			case false:", sessionTests},
	{"the slot of a caller that gave up is free at once", nfs4Session, "		s.settle(at, slot, seq)\n", "		at.slots.give(slot, false)\n", sessionTests},
	{"nothing is reclaimed after a restart", nfs4Establish, "	if had && s.cfg.Reclaim != nil {", "	if false {", sessionTests},
	{"nothing is opened after RECLAIM_COMPLETE", nfs4Establish, "	if had && s.cfg.Reopen != nil {", "	if false {", sessionTests},
	{"an error after RECLAIM_COMPLETE is lost", nfs4Establish, "			return fmt.Errorf(\"Config.Reopen: %w\", err)\n", "			_ = err\n", sessionTests},
	{"state is reclaimed that was not lost", nfs4Establish, "	} else if err := s.restore(ctx, at, former != nil); err != nil {", "	}\n	if err := s.restore(ctx, at, former != nil); err != nil {", sessionTests},
	{"a new connection is not bound", nfs4Establish, "	if at == nil {\n		return nil // CREATE", "	if true {\n		return nil // CREATE", sessionTests},
	{"the lease is not renewed", nfs4Renew, "			wait = at.lease/3 -", "			wait = 30*at.lease -", sessionTests},
	{"sessions whose reclaim failed stay at the server", nfs4Establish, "	} else if last != nil && last.client", "	} else if last != nil && last == former && last.client", sessionTests},
	{"Close leaves the session that is being established", nfs4Renew, "	last := s.live // also", "	last := s.former // also", sessionTests},
	{"a young session stays although its backchannel is faulty", nfs4Renew, "s.now != at || !s.left.IsZero() && time", "s.now != at || time.Since(at.since) < at.lease || time", sessionTests},
	{"a server that always asks for another session gets one", nfs4Renew, "s.now != at || !s.left.IsZero() && time.Since(s.left) < at.lease {", "s.now != at {", sessionTests},
	{"a session is destroyed under its COMPOUNDs in flight", nfs4Renew, "		at.slots.drained(ctx)\n", "", sessionTests},
	{"a session that was left stays at the server", nfs4Renew, "		if err := s.destroySession(ctx, at.id); err != nil {\n			s.cfg.Logger.Debug(\"nfs4: DESTROY_SESSION of a", "		if err := error(nil); err != nil {\n			s.cfg.Logger.Debug(\"nfs4: DESTROY_SESSION of a", sessionTests},
	{"revoked state is reported each time", nfs4Renew, "now != 0 && now != former&revoked &&", "now != 0 && now != former&0 &&", sessionTests},
	{"a callback is executed twice", nfs4Callback, "	case seq.SequenceID == slot.seq:\n		*res = slot.reply\n		return nil, nfs42.StatusOK\n", "", sessionTests},
	{"a false retry of a callback is answered", nfs4Callback, "	case seq.SequenceID == slot.seq && sum != slot.sum:\n", "	case false:\n", sessionTests},
	{"a callback overtakes the reply that it refers to", nfs4Callback, "if list.SessionID == table.at.id && !", "if false && !", sessionTests},
	{"a free slot wakes no caller", nfs4Slots, "		t.changed = nil\n	}\n	t.wake()\n", "		t.changed = nil\n	}\n", sessionTests},
}
