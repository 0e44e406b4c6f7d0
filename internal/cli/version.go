package cli

import "runtime/debug"

// release is the version of a release. The linker sets it: see tools/release.
var release string

// Version returns a line: the name of a command, the version of its release or else its module, the
// Go version, and the revision if the program knows it.
func Version(command string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return command + ", version unknown"
	}
	version := info.Main.Version
	if release != "" {
		version = release
	}
	text := command + " " + version + " " + info.GoVersion
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text
}
