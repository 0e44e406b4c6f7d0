package archtest

import (
	"slices"
	"strings"
	"testing"
)

// A name of one word, and a name in both test packages, are found.
func TestNamesOfTestsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		name, inside, outside string // tests of the two test packages
		may                   int
		want                  []string
	}{
		{"sentences", "TestCallIsSentAgain TestMain", "TestMain TestReplyIsDropped", 0, nil},
		{"one word", "TestCalls", "TestXDR TestTCP2 TestCall2", 0, []string{
			"p: test-name: 4 tests have names of one word, expected at most 0: write a short sentence, such as TestLostCallIsSentAgain: TestCalls TestXDR TestTCP2 TestCall2"}},
		{"as many as before", "TestCalls", "", 1, nil},
		{"fewer than before", "TestCallIsSent", "", 2, nil},
		{"twice", "TestCallIsSent", "TestCallIsSent", 0, []string{"p: test-name: 2 tests are named TestCallIsSent: give each a name"}},
		{"two words", "TestTCPCall TestCallXID", "", 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &checker{oneWord: map[string]int{"p": tt.may}}
			var n names
			n.add(testFile("p", tt.inside))
			n.add(testFile("p_test", tt.outside))
			c.testNames("p", n)
			var got []string
			for _, f := range c.findings {
				got = append(got, f.String())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// testFile returns a file of a package with tests whose names are separated by spaces.
func testFile(pkg, tests string) []byte {
	text := "package " + pkg + "\n"
	for name := range strings.FieldsSeq(tests) {
		text += "\nfunc " + name + "(t *testing.T) {}\n"
	}
	return []byte(text)
}
