package archtest

import (
	"regexp"
	"strings"
)

var (
	testName = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(`)
	oneWord  = regexp.MustCompile(`^Test([A-Z][a-z0-9]*|[A-Z]+[0-9]*)$`)
)

// names are the names of a folder's tests, in both test packages.
type names struct {
	count map[string]int
	words []string // names of one word, in their order
}

// add adds the names in a test file.
func (n *names) add(text []byte) {
	for _, match := range testName.FindAllSubmatch(text, -1) {
		name := string(match[1])
		if n.count == nil {
			n.count = make(map[string]int)
		}
		if n.count[name]++; n.count[name] == 1 && name != "TestMain" && oneWord.MatchString(name) {
			n.words = append(n.words, name)
		}
	}
}

// testNames reports names of one word beyond the number that OneWord allows, and each name that two
// tests of a package have, because -run would run both.
func (c *checker) testNames(pkg string, n names) {
	for name, count := range n.count {
		if count > 1 && name != "TestMain" {
			c.report(pkg, 0, "test-name", "%d tests are named %s: give each a name", count, name)
		}
	}
	if have, may := len(n.words), c.oneWord[pkg]; have > may {
		c.report(pkg, 0, "test-name", "%d tests have names of one word, expected at most %d: write a short sentence, such as TestLostCallIsSentAgain: %s",
			have, may, strings.Join(n.words, " "))
	}
}
