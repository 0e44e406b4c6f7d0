package guest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudgeLog(t *testing.T) {
	for _, tt := range []struct {
		name, log string
		want      []int // lines of problems
	}{
		{"nothing", "", nil},
		{"a boot", `[    0.000000] Linux version 6.1.0-56-amd64 (debian-kernel@lists.debian.org)
[    0.000000] BIOS-provided physical RAM map:
[    0.264351] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on
[    3.351224] siw: loading out-of-tree module taints kernel.
[    3.352479] siw: module verification failed: signature and/or required key missing - tainting kernel
[    5.175084] eth0 speed is unknown, defaulting to 1000
[    7.055008] linuxpeer: started
linuxpeer: agent ready`, nil},
		{"a BUG in a module", `[    9.780300] ------------[ cut here ]------------
[    9.780300] kernel BUG at drivers/infiniband/core/iwcm.c:969!
[    9.780833] invalid opcode: 0000 [#1] PREEMPT SMP NOPTI
[    9.783243] Call Trace:
[    9.783243] ---[ end trace 0000000000000000 ]---
[   10.000000] eth0 speed is unknown, defaulting to 1000`, []int{1}},
		{"two warnings", `[    1.000000] WARNING: CPU: 1 PID: 30 at net/core/dev.c:1 f+0x1/0x2
[    1.000001] ---[ end trace 0000000000000000 ]---
[    2.000000] WARNING: CPU: 1 PID: 30 at net/core/dev.c:2 g+0x1/0x2`, []int{0, 2}},
		{"a warning in the trace of another", `[    1.000000] WARNING: CPU: 1 PID: 30 at net/core/dev.c:1 f+0x1/0x2
[    1.000001] WARNING: CPU: 1 PID: 30 at net/core/dev.c:1 f+0x1/0x2`, []int{0}},
		{"lockdep", `[    1.000000] ======================================================
[    1.000000] WARNING: possible circular locking dependency detected
[    1.000000] 6.1.0 #1 Not tainted`, []int{1}},
		{"a thread's prefix", `[    1.000000][  T123] BUG: KASAN: use-after-free in siw_qp_get_ref`, []int{0}},
		{"a null pointer", `[    1.000000] BUG: kernel NULL pointer dereference, address: 0000000000000008`, []int{0}},
		{"an Oops", `[    1.000000] Oops: 0000 [#1] PREEMPT SMP`, []int{0}},
		{"a hung task", `[  242.000000] INFO: task nfsd:171 blocked for more than 120 seconds.`, []int{0}},
		{"a lost thread of the NFS server, and a warning after it", `[  243.026774] INFO: task nfsd:177 blocked for more than 120 seconds.
[  243.029342]  <TASK>
[  243.031987]  ? usleep_range_state+0x90/0x90
[  243.032129]  svc_rdma_process_read_list+0x106/0x2e0 [rpcrdma]
[  243.035377]  </TASK>
[  244.000000] WARNING: CPU: 1 PID: 30 at net/core/dev.c:2 g+0x1/0x2`, []int{5}},
		{"a thread of the NFS server that waits elsewhere", `[  243.026774] INFO: task nfsd:177 blocked for more than 120 seconds.
[  243.032129]  svc_tcp_recvfrom+0x106/0x2e0 [sunrpc]
[  243.035377]  </TASK>
[  244.000000] INFO: task rping:178 blocked for more than 120 seconds.
[  244.032129]  svc_rdma_process_read_list+0x106/0x2e0 [rpcrdma]
[  244.035377]  </TASK>`, []int{0}},
		{"another task in the same function", `[  244.000000] INFO: task rping:178 blocked for more than 120 seconds.
[  244.032129]  svc_rdma_process_read_list+0x106/0x2e0 [rpcrdma]
[  244.035377]  </TASK>`, []int{0}},
		{"a region that the NFS server leaves, and a warning after it", `[   13.186820] WARNING: CPU: 0 PID: 238 at drivers/infiniband/core/verbs.c:2104 ib_destroy_qp_user+0x165/0x1a0 [ib_core]
[   13.194124] Call Trace:
[   13.195510]  svc_rdma_free+0x88/0x130 [rpcrdma]
[   13.198593]  </TASK>
[   13.198769] ---[ end trace 0000000000000000 ]---
[   14.000000] WARNING: CPU: 1 PID: 30 at net/core/dev.c:2 g+0x1/0x2`, []int{5}},
		{"a region that the client leaves", `[   13.186820] WARNING: CPU: 0 PID: 238 at drivers/infiniband/core/verbs.c:2104 ib_destroy_qp_user+0x165/0x1a0 [ib_core]
[   13.195510]  rpcrdma_ep_destroy+0x88/0x130 [rpcrdma]
[   13.198769] ---[ end trace 0000000000000000 ]---`, []int{0}},
		{"a region left, and the NFS server in another report", `[   13.186820] WARNING: CPU: 0 PID: 238 at drivers/infiniband/core/verbs.c:2104 ib_destroy_qp_user+0x165/0x1a0 [ib_core]
[   14.000000] BUG: kernel NULL pointer dereference, address: 0000000000000008
[   14.195510]  svc_rdma_free+0x88/0x130 [rpcrdma]
[   14.198769] ---[ end trace 0000000000000000 ]---`, []int{0}},
		{"a reference count", `[    1.000000] refcount_t: underflow; use-after-free.`, []int{0}},
		{"no memory", `[    1.000000] Out of memory: Killed process 12 (rping)`, []int{0}},
		{"a failed step of the start", `[    1.000000] linuxpeer: failed: rdma link add siw0 type siw netdev eth0`, []int{0}},
		{"a slow processor", `[   30.000000] watchdog: BUG: soft lockup - CPU#1 stuck for 22s!
[   31.000000] rcu: INFO: rcu_sched self-detected stall on CPU`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := strings.Split(tt.log, "\n")
			var got []int
			for _, p := range JudgeLog(lines) {
				got = append(got, p.Line)
				if p.Text[0] != lines[p.Line] {
					t.Errorf("problem at line %d begins with %q", p.Line, p.Text[0])
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines of problems (-want +got):\n%s", diff)
			}
		})
	}
}

// A problem has a bounded number of lines, and those behind it are judged again.
func TestJudgeLogLength(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("[ %d.000000] Oops: %d", i, i))
	}
	got := JudgeLog(lines)
	if len(got) != 3 || len(got[0].Text) != problemLines || got[1].Line != problemLines {
		t.Errorf("%d problems, the first of %d lines, the second at line %d; want 3, %d, %d",
			len(got), len(got[0].Text), got[1].Line, problemLines, problemLines)
	}
}
