package main

const releaseDir = "tools/release/"

var releaseTests = []string{"tools/release"}

// releaseMutants are in what builds the files of a release.
var releaseMutants = []mutant{
	{"a program has the folder in it", releaseDir + "build.go", "\"-trimpath\", ", "", releaseTests},
	{"a release has no version", releaseDir + "build.go", "versionVariable + \"=\"", "versionVariable + \"s=\"", releaseTests},
	{"archives have the time of the clock", releaseDir + "archive.go", "h.ModTime, h.Uname, h.Gname, h.Format = at,", "h.ModTime, h.Uname, h.Gname, h.Format = time.Now(),", releaseTests},
	{"a zip archive has the time of the clock", releaseDir + "archive.go", "Modified: at}", "Modified: time.Now()}", releaseTests},
	{"old files stay in the folder", releaseDir + "build.go", "len(entries) > 0", "false", releaseTests},
	{"a version has a flag of the linker in it", releaseDir + "main.go", "(\\+[0-9A-Za-z.-]+)?$`", "(\\+[0-9A-Za-z.-]+)?`", releaseTests},
	{"a version before a release is newer", releaseDir + "deb.go", "main + \"~\"", "main + \"+\"", releaseTests},
	{"members of the package are not padded", releaseDir + "deb.go", "len(f.data)%2 == 1", "false", releaseTests},
	{"a line of text is a request", releaseDir + "man.go", "strings.HasPrefix(s, \".\")", "false", releaseTests},
	{"the text of a flag ends at its first line", releaseDir + "man.go", "case w.list && !w.gap && indent >= w.column:", "case false:", releaseTests},
}
