package cases

import (
	"os"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs/page"
)

// mountd is the guest's port of the mount service.
const mountd = 20048

// mountCases ask the guest's mount service, which speaks TCP, and run the programs that do.
func mountCases() []Case {
	return []Case{
		{Name: "nfs/mountd", Run: nfsMountd},
		{Name: "nfs/page", Timeout: time.Minute, Run: nfsPage},
	}
}

// export returns the handle of the guest's exported folder.
func export(t *T) nfs3.Handle {
	cred, err := nfs.Cred(0, 0)
	t.Must(err)
	root, err := nfs.Mount(t.Context(), t.Forward(mountd), "/export", cred)
	t.Must(err)
	return root
}

// nfsMountd gets a handle for the export, and an error for a folder that is not exported.
func nfsMountd(t *T) {
	root := export(t)
	if n := len(root.Data); n == 0 || n > nfs3.HandleSize {
		t.Errorf("a handle of %d bytes", n)
	}
	cred, err := nfs.Cred(0, 0)
	t.Must(err)
	_, err = nfs.Mount(t.Context(), t.Forward(mountd), "/etc", cred)
	if err == nil || !strings.Contains(err.Error(), "MNT3ERR_ACCES") {
		t.Errorf("MNT of a folder that is not exported: %v, expected MNT3ERR_ACCES", err)
	}
	t.Say("a handle of %d bytes", len(root.Data))
}

// nfsPage runs each command of docs/nfs.md.
func nfsPage(t *T) {
	root, err := page.Root()
	t.Must(err)
	commands, err := page.Lines(root, page.File, "console")
	t.Must(err)
	copies, err := os.MkdirTemp("", "nfspage")
	t.Must(err)
	defer os.RemoveAll(copies)
	server := page.Server{RDMA: t.Forward(nfsRDMA), Mount: t.Forward(mountd)}
	for _, command := range commands {
		out, err := page.Run(t.Context(), root, copies, command, server)
		t.Must(err)
		t.Logf("$ %s\n%s", command, out)
		for _, want := range page.Expect(command) {
			if !strings.Contains(out, want) {
				t.Errorf("%s: found\n%s\nexpected it to contain %q", command, out, want)
			}
		}
	}
	t.Say("%d commands", len(commands))
}
