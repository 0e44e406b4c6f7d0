package main

var (
	nfsCommandTests = []string{"nfs/cmd/nfs"}
	nfsserveTests   = []string{"nfs/cmd/nfsserve"}
)

// nfsCommandMutants are in the commands of NFS, and in what the client does for them.
var nfsCommandMutants = []mutant{
	{"a copy without some files is a failure of this side", "nfs/cmd/nfs/exit.go", "\t\treturn \"partial\", exitPartial", "\t\treturn \"partial\", exitFailed", nfsCommandTests},
	{"a refusal always has the code of servers", "nfs/cmd/nfs/exit.go", "\t\tif code := fileExit(err); code != exitFailed {", "\t\tif code := fileExit(err); false {", nfsCommandTests},
	{"an error of the server is one of this side", "nfs/cmd/nfs/exit.go", "\t\treturn name, exitServer", "\t\treturn name, exitFailed", nfsCommandTests},
	{"a lost connection is a failure of this side", "nfs/cmd/nfs/exit.go", "\tif errors.As(err, &first) || errors.As(err, &lost) {", "\tif errors.As(err, &first) || errors.As(err, &lost) && false {", nfsCommandTests},
	{"a credential that is refused is an error of the server", "nfs/cmd/nfs/exit.go", "\tcase errors.Is(err, fs.ErrPermission), errors.Is(err, oncrpc.ErrAuth):", "\tcase errors.Is(err, fs.ErrPermission):", nfsCommandTests},
	{"SIGTERM has the code of ^C", "nfs/cmd/nfs/exit.go", "exitSignal + int(number)", "exitSignal + int(number)*0 + 2", nfsCommandTests},
	{"a link has the time of its copy", "nfs/cmd/nfs/copy.go", "\tif err := c.to.setLinkTime(as, source.ModTime()); err != nil {\n\t\treturn err\n\t}\n\tc.total.files++", "\tc.total.files++", nfsCommandTests},
	{"a link that is there keeps its time", "nfs/cmd/nfs/copy.go", "\t\t\tif !there.ModTime().Equal(source.ModTime()) {", "\t\t\tif false {", nfsCommandTests},
	{"a server must set the times of links", "nfs/cmd/nfs/remote.go", "\tif errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {", "\tif errors.Is(err, errors.ErrUnsupported) {", nfsCommandTests},
	{"the kernel keeps the registration of the lock manager", "nfs/cmd/nfsserve/watch.go", "\t\tif registered && old.Port() == s.at.Port() {", "\t\tif registered {", nfsserveTests},
	{"each look at the registrations is printed", "nfs/cmd/nfsserve/watch.go", "\tw.said = true", "", nfsserveTests},
	{"a registration that was taken is not given back", "nfs/cmd/nfsserve/watch.go", "\t\t\tw.former[s] = old", "", nfsserveTests},
	{"a client of the own host is called at the server", "nfs/internal/nlm/reach.go", "\t\tversion = otherVersion", "", nfsserveTests},
	{"times are set through a link", "nfs/internal/filetimes/set_linux.go", "flags := uintptr(noFollow)", "flags := uintptr(0)", []string{"nfs/internal/filetimes", "nfs/localfs"}},
	{"the zero time is a time", "nfs/internal/filetimes/set_linux.go", "\t\tif !at.IsZero() {", "\t\tif true {", []string{"nfs/internal/filetimes"}},
	{"the parts of copies are in the totals", "nfs/cmd/nfs/scan.go", "\t\tcase isPart(entry.Name()):\n", "", nfsCommandTests},
	{"totals lack the directories below", "nfs/cmd/nfs/scan.go", "\t\t\tif !c.count(path.Join(dir, entry.Name()), level+1, stopped) {", "\t\t\tif false {", nfsCommandTests},
	{"links have the size of their target's name", "nfs/cmd/nfs/scan.go", "\tif file.Mode().IsRegular() {", "\tif true {", nfsCommandTests},
	{"totals are complete without a list", "nfs/cmd/nfs/scan.go", "\t\tif err != nil || stopped.Load() {\n\t\t\treturn false", "\t\tif err != nil || stopped.Load() {\n\t\t\treturn true", nfsCommandTests},
	{"a file that fails is never done", "nfs/cmd/nfs/copy.go", "\t\t\tif !entry.IsDir() {", "\t\t\tif false {", nfsCommandTests},
	{"a file is larger than its size", "nfs/cmd/nfs/progress.go", "sum(p.bytes, min(m.done, m.size))", "sum(p.bytes, m.done)", nfsCommandTests},
	{"bytes that were there count for the rate", "nfs/cmd/nfs/progress.go", "\tm.now.name, m.size, m.done = name, size, there\n", "\tm.now.name, m.size, m.done = name, size, there\n\tm.now.copied += there\n", nfsCommandTests},
	{"totals overflow", "nfs/cmd/nfs/progress.go", "\tif b > math.MaxInt64-a {", "\tif false {", nfsCommandTests},
	{"the time left of a tree ignores its files", "nfs/cmd/nfs/progress.go", "\tif p.tree && p.files > 0 {", "\tif false {", nfsCommandTests},
	{"a share of totals that may grow", "nfs/cmd/nfs/progress.go", "\tif p.allBytes > 0 && p.complete {", "\tif p.allBytes > 0 {", nfsCommandTests},
	{"a line of progress has any width", "nfs/cmd/nfs/progress.go", "\t\tif len(name) > room {", "\t\tif false {", nfsCommandTests},
	{"the advice has the host of all addresses", "nfs/cmd/nfsserve/advice.go", "\tif ip.IsUnspecified() {", "\tif false {", nfsserveTests},
	{"clients without a port mapper get no ports", "nfs/cmd/nfsserve/advice.go", "\tcase !mapped:", "\tcase false:", nfsserveTests},
	{"a mount on the server's host asks its own lock manager", "nfs/cmd/nfsserve/advice.go", "\tcase ip.IsLoopback() || o.NoLocks:", "\tcase o.NoLocks:", nfsserveTests},
	{"an address of version 6 has no brackets", "nfs/cmd/nfsserve/advice.go", "\tif strings.Contains(host, \":\") {", "\tif false {", nfsserveTests},
	{"a tool without commands completes commands in bash", "internal/cli/completion/completion.go", "t.Commands[0].Name == \"\" }", "false }", nfsserveTests},
	{"each directory is asked for by READDIRPLUS", "nfs/client/readdir.go", "\t\tl.c.noPlus.Store(true)", "", nfsCommandTests},
	{"Close leaves the mount at the server", "nfs/client/mount.go", "\t\terr := end()\n\t\tm.unmount()", "\t\terr := end()", []string{"nfs/client"}},
	{"the time limit of Dial is not a timeout", "nfs/client/dial.go", "func (d *dialTimeout) Unwrap() error { return context.DeadlineExceeded }", "func (d *dialTimeout) Unwrap() error { return nil }", nfsCommandTests},
}
