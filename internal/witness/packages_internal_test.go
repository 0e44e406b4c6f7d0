package witness

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Continuous integration installs each Debian package of the table that not every Debian has.
func TestContinuousIntegrationInstallsAllPackages(t *testing.T) {
	script, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(script), "\npackages='")
	list, _, found := strings.Cut(list, "'\n")
	if !found {
		t.Fatal("no list of packages")
	}
	installed := append(strings.Fields(list), "apt", "dash", "dpkg", "grep", "sed", "tar", "golang")
	for program, pkg := range debian {
		if !slices.Contains(installed, pkg) {
			t.Errorf("%s is in package %s, which .ci/run does not install", program, pkg)
		}
	}
}
