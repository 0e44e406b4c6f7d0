package main

const (
	checkFile = "internal/history/check.go"
	logFile   = "internal/history/log.go"
)

var (
	historyTests = []string{"internal/history"}
	simTests     = []string{"rdmaio/internal/sim"}
)

// historyMutants are in the checker of histories, and in parts of the product that the simulation
// runs.
var historyMutants = []mutant{
	{"a second execution is overlooked", checkFile, "p.Once && n > 1", "p.Once && n > 2", historyTests},
	{"a later execution may give the result", checkFile, " && r.at <= c.returned", "", historyTests},
	{"an execution that was denied is overlooked", checkFile, "c.outcome == NotSent && n > 0", "false", historyTests},
	{"a Call may hang", checkFile, "c.outcome == InProgress:", "false:", historyTests},
	{"a Call may return twice", logFile, "if c.outcome != InProgress {", "if false {", historyTests},
	{"messages may overtake others", logFile, "at >= len(s.sent) || s.sent[at] != n", "at >= len(s.sent)", historyTests},
	{"a region on demand keeps its key", "rdmaio/internal/mrpool/release.go", "	if err := r.Invalidate(); err != nil {\n		return err\n	}\n	return p.Revoked(r)", "	return p.Revoked(r)", simTests},
}
