package oracle_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/oracle"
)

// A difference needs a rule that matches the question and both answers, and a rule needs a
// difference.
func TestDifferencesNeedReasons(t *testing.T) {
	ours := []oracle.Answer{{"a/x", "NFS3_OK"}, {"a/y", "NFS3_OK; file 0755"}, {"b/z", "NFS3ERR_PERM"}}
	theirs := []oracle.Answer{{"a/x", "NFS3_OK"}, {"a/y", "NFS3_OK; file 4755"}, {"b/z", "NFS3ERR_ACCES"}}
	for _, tt := range []struct {
		name          string
		allowed       []oracle.Difference
		wrong, unused []string
	}{
		{"without rules", nil, []string{"a/y", "b/z"}, nil},
		{"all allowed", []oracle.Difference{
			{Question: "a/.*", Mask: `[0-7]([0-7]{3})`, Reason: "mode"}, {Question: "b/z", Ours: "NFS3ERR_PERM", Theirs: "NFS3ERR_ACCES", Reason: "status"},
		}, nil, nil},
		{"of a part of the question", []oracle.Difference{{Question: "y", Reason: "part"}, {Question: "b/.*", Reason: "all"}}, []string{"a/y"}, []string{"part"}},
		{"our answer is another one", []oracle.Difference{{Question: ".*", Ours: "NFS3_OK.*", Reason: "first"}}, []string{"b/z"}, nil},
		{"their answer is another one", []oracle.Difference{{Question: ".*", Theirs: "NFS3_OK.*", Reason: "first"}}, []string{"b/z"}, nil},
		{"with a mask that leaves a difference", []oracle.Difference{{Question: "a/y", Mask: "NFS3_OK", Reason: "mask"}, {Question: "b/z", Reason: "all"}}, []string{"a/y"}, []string{"mask"}},
		{"of equal answers", []oracle.Difference{{Question: "a/x", Reason: "equal"}, {Question: "a/y|b/z", Reason: "rest"}}, nil, []string{"equal"}},
		{"the first of two", []oracle.Difference{{Question: ".*", Reason: "first"}, {Question: "a/.*", Reason: "second"}}, nil, []string{"second"}},
	} {
		wrong, unused := oracle.Compare(ours, theirs, tt.allowed)
		var questions, reasons []string
		for _, line := range wrong {
			question, _, _ := strings.Cut(line, "\n")
			questions = append(questions, question)
		}
		for _, d := range unused {
			reasons = append(reasons, d.Reason)
		}
		if diff := cmp.Diff([2][]string{tt.wrong, tt.unused}, [2][]string{questions, reasons}); diff != "" {
			t.Errorf("%s: the questions that differ, and the reasons without a question:\n%s", tt.name, diff)
		}
	}
}

// Servers that were not asked the same questions do not agree.
func TestOtherQuestionsDiffer(t *testing.T) {
	all := []oracle.Difference{{Question: ".*", Reason: "all"}}
	for name, theirs := range map[string][]oracle.Answer{
		"one less": {{"a", "1"}}, "another name": {{"a", "1"}, {"c", "2"}}, "another order": {{"b", "2"}, {"a", "1"}},
	} {
		if wrong, _ := oracle.Compare([]oracle.Answer{{"a", "1"}, {"b", "2"}}, theirs, all); len(wrong) == 0 {
			t.Errorf("%s: no difference", name)
		}
	}
}

// A way of Linux 6.1 is allowed for its releases alone.
func TestKernelsDiffer(t *testing.T) {
	count := func(release string) int { return len(oracle.Linux(release)) }
	all, first, later := count(""), count("6.1.0-56-amd64"), count("6.12.117+deb12-amd64")
	if all != first || later != all-2 {
		t.Errorf("%d ways, %d of 6.1 and %d of 6.12, expected two of 6.1 alone", all, first, later)
	}
}

// The page for users has each reason.
func TestPageHasReasons(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/nfs-server.md")
	check(t, err)
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	text := words(string(page))
	for _, d := range oracle.Linux("") {
		if !strings.Contains(text, words(d.Reason)) {
			t.Errorf("docs/nfs-server.md does not have: %s", d.Reason)
		}
	}
}
