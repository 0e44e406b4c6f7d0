package describe

import (
	"strconv"
	"strings"
)

// Tag is the content of a tag.
type Tag struct {
	Name     string  // in the .x file
	Text     bool    // "string"
	Switch   bool    // "switch"
	Default  bool    // "default"
	Pointer  bool    // "pointer"
	Whole    bool    // "whole"
	Presence bool    // "presence"
	Cases    []int64 // "case"
	Nodes    []Node  // "node"
}

// Node says that a sequence in a value is a linked list whose nodes have one field.
type Node struct {
	Level int    // the number of sequences around it
	Name  string // of the field, in the .x file
}

// Parse parses the value of a tag. It ignores words that it does not know, so that a program may
// have generated code of a later compiler.
func Parse(tag string) Tag {
	var t Tag
	name, rest, _ := strings.Cut(tag, ",")
	t.Name = name
	for word := range strings.SplitSeq(rest, ",") {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "string":
			t.Text = true
		case "switch":
			t.Switch = true
		case "default":
			t.Default = true
		case "pointer":
			t.Pointer = true
		case "whole":
			t.Whole = true
		case "presence":
			t.Presence = true
		case "case":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				t.Cases = append(t.Cases, n)
			}
		case "node":
			level, name, _ := strings.Cut(value, ":")
			if n, err := strconv.Atoi(level); err == nil {
				t.Nodes = append(t.Nodes, Node{n, name})
			}
		}
	}
	return t
}

// Node returns the field name of a linked list whose nodes have one field. It returns "" if the
// sequence at that level is not a linked list, or its nodes are structs in Go, too.
func (t *Tag) Node(level int) string {
	for _, n := range t.Nodes {
		if n.Level == level {
			return n.Name
		}
	}
	return ""
}
