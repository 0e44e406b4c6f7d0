package cases

import (
	"strings"
	"time"
)

// programCases run Debian's programs on our server's mounts.
func programCases() []Case {
	return []Case{
		{Name: "mount/sqlite", Timeout: 3 * time.Minute, Run: mountSQLite},
		{Name: "mount/git", Timeout: 5 * time.Minute, Run: mountGit},
		{Name: "mount/fio", Timeout: 4 * time.Minute, Run: mountFio},
		{Name: "mount/stress", Timeout: 3 * time.Minute, Run: mountStress},
		{Name: "mount/permissions", Timeout: 12 * time.Minute, Run: mountPermissions},
	}
}

// mountSQLite lets two programs write to one database, each by its own mount without options. Only
// locks at the server keep them apart.
func mountSQLite(t *T) {
	lockNetwork(t)
	server := lockServer(t)
	lockMount(t)
	const rows = "8"
	write := func(point string) string {
		return `for i in $(seq ` + rows + `); do sqlite3 -cmd '.timeout 100000' ` + point + `/db "insert into t values('` + point + `', $i)" || exit; done`
	}
	out := t.Shell(`sqlite3 ` + mountPoint + `/db 'create table t(point, n)' || exit
		(` + write(mountPoint) + `) & first=$!
		(` + write(secondPoint) + `) || exit
		wait $first || exit
		sqlite3 ` + secondPoint + `/db 'select point, count(distinct n) from t group by point; pragma integrity_check'`)
	if want := mountPoint + "|" + rows + "\n" + secondPoint + "|" + rows + "\nok"; out != want {
		t.Errorf("the database has %q, expected %q", out, want)
	}
	server.Await("NLMPROC4_LOCK: NLM4_DENIED") // one found the other's lock
	t.Report(Finding{
		What: "sqlite3 by two mounts without options, one database", Rule: "RFC 1813 §6",
		Expected: "all rows of both, and a database without damage", Saw: "all rows of both; integrity_check: ok",
	})
	t.Say("%s rows by each of two mounts at the same time, integrity_check: ok", rows)
}

// programShare mounts a share on which root may do everything.
func programShare(t *T) {
	cfg := shareConfig{}
	cfg.AllowRoot, cfg.Async = true, true
	newShare(t, cfg).mount(t)
}

// mountGit keeps a repository on the mount.
func mountGit(t *T) {
	programShare(t)
	// Debian's git-upload-pack is a link to git, which the guest does not have.
	out := t.Shell(`export HOME=/tmp GIT_TEMPLATE_DIR= GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
		cd ` + mountPoint + ` && git init -q -b main repo && cd repo || exit
		for i in $(seq 10); do mkdir -p d$i && echo $i >d$i/file && echo $((i * 7)) >d$i/other || exit; done
		git add -A && git commit -q -m one && git checkout -q -b side && git mv d1 moved && git rm -q -r d2 && git commit -q -m two || exit
		git checkout -q main && echo more >>d3/file && git commit -q -a -m three && git merge -q -m four side || exit
		git gc -q && git clone -q --no-hardlinks -u 'git upload-pack' . ../clone && cd ../clone && git fsck --strict --no-progress || exit
		sync; echo 3 >/proc/sys/vm/drop_caches
		git status --porcelain; git rev-list --count HEAD; git ls-files | wc -l; cat d3/file moved/file`)
	if want := "4\n18\n3\nmore\n1"; out != want {
		t.Errorf("found %q, expected %q", out, want)
	}
	t.Say("commits, a merge, gc, clone and fsck of 20 files")
}

// mountFio writes and reads at random, and checks the data.
func mountFio(t *T) {
	programShare(t)
	out := t.Shell(`cd ` + mountPoint + ` && fio --directory=. --size=4m --bs=4k-64k --bsrange=512-64k --blockalign=512 --ioengine=psync --numjobs=2 \
		--verify=crc32c --verify_fatal=1 --fsync=32 --end_fsync=1 --norandommap=0 --group_reporting --minimal \
		--name=random --rw=randwrite --do_verify=1 && sync && echo 3 >/proc/sys/vm/drop_caches && fio --directory=. --size=4m --bs=64k --ioengine=psync \
		--numjobs=2 --verify=md5 --group_reporting --minimal --name=sequential --rw=write --do_verify=1 --direct=1`)
	if strings.Contains(out, "verify:") {
		t.Errorf("fio: %s", out)
	}
	t.Say("random and direct writes by two programs each, verified")
}

// mountStress runs the stressors of files that check what they find.
func mountStress(t *T) {
	programShare(t)
	out, err := t.Background("stress-ng", "--temp-path", mountPoint, "--timeout", "20", "--verify", "--metrics-brief", "--no-rand-seed",
		"--rename", "1", "--rename-ops", "100", "--chmod", "1", "--chmod-ops", "20", "--hdd", "1", "--hdd-bytes", "2m", "--hdd-ops", "60",
		"--seek", "1", "--seek-size", "1m", "--seek-ops", "100", "--utime", "1", "--utime-ops", "100").Wait()
	if err != nil || strings.Contains(out, "fail:") {
		t.Errorf("stress-ng: %v\n%s", err, out)
	}
	t.Say("renames, modes, times, seeks and data, verified")
}

// mountPermissions tries system calls by several users with several modes: the errors, and what the
// calls leave, are the same as on tmpfs. The kernel's client finds objects of a wrong type before
// the server refuses the caller.
func mountPermissions(t *T) {
	const modes = "4"
	if !serverIsRoot() {
		t.Skipf("our server tells users apart if it is root: run the harness as root")
	}
	programShare(t)
	// As distributions have it, and as our server does.
	t.Shell("echo 1 >/proc/sys/fs/protected_hardlinks")
	t.Cleanup(func() { t.Shell("echo 0 >/proc/sys/fs/protected_hardlinks; rm -rf /export/permissions") })
	local := t.Run("sh", "-c", "mkdir /export/permissions && mounttest perms -modes "+modes+" /export/permissions")
	remote := t.Run("mounttest", "perms", "-modes", modes, mountPoint)
	here, there := strings.Split(local, "\n"), strings.Split(remote, "\n")
	if len(here) != len(there) {
		t.Errorf("%d lines of tmpfs, %d of the mount", len(here), len(there))
	}
	for i := range min(len(here), len(there)) {
		early := strings.NewReplacer(": 20 ", ": 13 ", ": 21 ", ": 13 ")
		if here[i] != there[i] && here[i] != early.Replace(there[i]) {
			t.Errorf("tmpfs: %s\nmount: %s", here[i], there[i])
		}
	}
	t.Say("%d system calls by 4 users, as on tmpfs", len(here))
}
