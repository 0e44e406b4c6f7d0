// Package version has the line that the commands of NFS print for their version.
package version

import "runtime/debug"

// Line returns the version of a command's module, of Go, and the revision if it is known.
func Line(command string) string {
	text := command + ", version unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		text = command + " " + info.Main.Version + " " + info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				text += " " + s.Value
			}
		}
	}
	return text
}
