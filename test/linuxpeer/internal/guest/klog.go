package guest

import (
	"fmt"
	"regexp"
	"strings"
)

// Problem is a place in a kernel log that a sound kernel does not write.
type Problem struct {
	Line int      // Line is the index of the first line.
	Text []string // Text is that line and some that follow: the registers and the call trace.
}

func (p Problem) String() string {
	return fmt.Sprintf("kernel log, line %d:\n\t%s", p.Line+1, strings.Join(p.Text, "\n\t"))
}

// problemLines is the number of lines of a Problem.
const problemLines = 40

var (
	stamp = regexp.MustCompile(`^(?:<\d+>)?\[ *\d+\.\d+\]\s?(?:\[ *[TC]\d+\]\s?)?`)
	// From lib/bug.c, kernel/panic.c, kernel/locking/lockdep.c, arch/x86/kernel/dumpstack.c,
	// mm/kasan, lib/ubsan.c, kernel/hung_task.c, net/core/dev.c.
	problem = regexp.MustCompile(strings.Join([]string{
		`^WARNING: `, `^BUG: `, `^BUG\b.*: `, `kernel BUG at`, `Oops`, `Kernel panic`, `general protection fault`,
		`^UBSAN: `, `^KASAN: `, `double fault`, `^refcount_t: `, `INFO: task .* blocked for more than`,
		`possible (?:recursive|circular) locking`, `inconsistent lock state`, `lock held when returning to user space`,
		`suspicious RCU usage`, `DEBUG_LOCKS_WARN_ON`, `unregister_netdevice: waiting for`, `list_(?:add|del) corruption`,
		`Out of memory: Killed process`, `^linuxpeer: failed: `,
	}, "|"))
	// The emulated processors are slow: these depend on the load of the machine.
	slow = regexp.MustCompile(`soft lockup|self-detected stall|clocksource: .*watchdog|hrtimer: interrupt took`)
)

// known are reports that begin with a line like first, and end with one that contains end. Between
// them, a line contains within. Linux writes them by itself when a connection is lost.
var known = []struct {
	first       *regexp.Regexp
	within, end string
}{
	// Linux 6.1's NFS server loses a thread, which waits for a Read on a connection that is lost.
	// The kernel reports it two to four minutes later, during whatever case runs then.
	{regexp.MustCompile(`INFO: task nfsd:\d+ blocked for more than`), "svc_rdma_process_read_list", "</TASK>"},
	// If a connection is lost during two Reads, siw of Linux 6.12 completes only one. The NFS
	// server then destroys the queue pair with the region of the other. The kernel reports it once.
	{regexp.MustCompile(`WARNING: .* ib_destroy_qp_user\+`), "svc_rdma_free", "---[ end trace"},
}

// knownLines returns how many lines the report has with which lines begin, if it is a known one, or
// else 0.
func knownLines(lines []string) int {
	for _, k := range known {
		if !k.first.MatchString(lines[0]) {
			continue
		}
		found := false
		for n, l := range lines[:min(len(lines), problemLines)] {
			found = found || strings.Contains(l, k.within)
			if found && strings.Contains(l, k.end) {
				return n + 1
			}
			if n > 0 && problem.MatchString(stamp.ReplaceAllString(l, "")) {
				break // another report begins
			}
		}
	}
	return 0
}

// JudgeLog returns the problems in the lines of a kernel log. Lines of a problem's own trace are no
// further problems. Known reports are not problems.
func JudgeLog(lines []string) []Problem {
	var found []Problem
	for i := 0; i < len(lines); i++ {
		text := stamp.ReplaceAllString(lines[i], "")
		if slow.MatchString(text) || !problem.MatchString(text) {
			continue
		}
		if n := knownLines(lines[i:]); n > 0 {
			i += n - 1
			continue
		}
		end := min(i+problemLines, len(lines))
		for j := i + 1; j < end; j++ {
			if strings.Contains(lines[j], "---[ end trace") {
				end = j + 1
			}
		}
		found = append(found, Problem{Line: i, Text: lines[i:end:end]})
		i = end - 1
	}
	return found
}
