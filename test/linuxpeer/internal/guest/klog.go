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
	// Linux 6.1's NFS server loses a thread, which waits for a Read on a connection that is gone.
	// The kernel reports it two to four minutes later, during whatever case runs then.
	lostThread = regexp.MustCompile(`INFO: task nfsd:\d+ blocked for more than`)
	lostIn     = "svc_rdma_process_read_list"
)

// lostThreadLines returns how long the report of a lost thread is with which lines begin, or 0 if
// they begin with something else.
func lostThreadLines(lines []string) int {
	if !lostThread.MatchString(lines[0]) {
		return 0
	}
	found := false
	for n, l := range lines[:min(len(lines), problemLines)] {
		found = found || strings.Contains(l, lostIn)
		if strings.Contains(l, "</TASK>") {
			if !found {
				break
			}
			return n + 1
		}
	}
	return 0
}

// JudgeLog returns the problems in the lines of a kernel log. Lines of a problem's own trace are no
// further problems. A thread that the NFS server has lost is not a problem.
func JudgeLog(lines []string) []Problem {
	var found []Problem
	for i := 0; i < len(lines); i++ {
		text := stamp.ReplaceAllString(lines[i], "")
		if slow.MatchString(text) || !problem.MatchString(text) {
			continue
		}
		if n := lostThreadLines(lines[i:]); n > 0 {
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
