package cli

import (
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// DefaultWidth is the number of columns of help that goes to no terminal.
const DefaultWidth = 80

// leastWidth is the number of columns that Fold needs for a column of text.
const leastWidth = 40

// columnIndent is the smallest indentation of a text column. Its first line follows a flag or a
// word on the line above; lines with less indentation are a list.
const columnIndent = 8

// Width returns the number of columns of the terminal w, or DefaultWidth if w is not a terminal.
func Width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return DefaultWidth
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return DefaultWidth
	}
	columns := 0
	if err := conn.Control(func(fd uintptr) { columns = terminalWidth(fd) }); err != nil || columns <= 0 {
		return DefaultWidth
	}
	return columns
}

// item matches the front of a line of help, which is before the column of text.
var item = regexp.MustCompile(`^ *(?:\S.*?\S  +(?:\S.*\S  +)?|\S  +|- |\d+\. )?`)

// Fold folds the lines of a help text at width columns. Where a line has a term and a text in a
// column of its own, such as a flag, the text stays in its column, and is filled again with the
// lines below it. Commands of examples are broken with a backslash, usage lines between brackets.
func Fold(text string, width int) string {
	width = max(width, leastWidth)
	lines := strings.Split(text, "\n")
	var out []string
	examples, usage := false, false
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		examples = line != "" && (examples || line == "Examples:")
		usage = line != "" && (usage || strings.HasPrefix(line, "Usage:"))
		front := item.FindString(line)
		column := utf8.RuneCountInString(front)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		last := i
		if !examples && !usage && (column > indent || indent == 0 || indent >= columnIndent) {
			last = paragraph(lines, i, column)
		}
		if widest(lines[i:last+1]) <= width {
			out = append(out, lines[i:last+1]...)
			i = last
			continue
		}
		words := strings.Fields(line[len(front):])
		for _, more := range lines[i+1 : last+1] {
			words = append(words, strings.Fields(more)...)
		}
		switch {
		case examples && indent >= columnIndent && !strings.HasSuffix(lines[i-1], `\`):
			// the comment on the command above
			out = append(out, fill(line[:indent], strings.Fields(line), indent, width, "")...)
		case examples:
			out = append(out, foldExample(line, front, indent, width)...)
		case usage:
			out = append(out, fill("", usageWords(line), 2*len("Usage: "), width, "")...)
		case width-column < leastWidth/2 && column > indent:
			out = append(out, strings.TrimRight(front, " "))
			out = append(out, fill(strings.Repeat(" ", indent+4), words, indent+4, width, "")...)
		default:
			out = append(out, fill(front, words, column, width, "")...)
		}
		i = last
	}
	return strings.Join(out, "\n")
}

// paragraph returns the last line of the text in a column that begins in line i.
func paragraph(lines []string, i, column int) int {
	for i+1 < len(lines) && lines[i] != "" {
		next := lines[i+1]
		trimmed := strings.TrimLeft(next, " ")
		if trimmed == "" || len(next)-len(trimmed) != column || item.FindString(next) != next[:column] || strings.HasSuffix(lines[i], ":") {
			return i
		}
		i++
	}
	return i
}

func widest(lines []string) (n int) {
	for _, l := range lines {
		n = max(n, utf8.RuneCountInString(l))
	}
	return n
}

// fill writes words into lines: the first after front, the others from a column on. Each line but
// the last ends with end.
func fill(front string, words []string, column, width int, end string) []string {
	var out []string
	line, empty := front, true
	for i, w := range words {
		room := width
		if i < len(words)-1 {
			room -= len(end)
		}
		sep := " "
		if empty {
			sep = ""
		}
		if !empty && utf8.RuneCountInString(line)+len(sep)+utf8.RuneCountInString(w) > room {
			out = append(out, line+end)
			line, sep = strings.Repeat(" ", column), ""
		}
		line, empty = line+sep+w, false
	}
	return append(out, line)
}

// foldExample folds a command, whose comment, if there is one, goes to the line below it.
func foldExample(line, front string, indent, width int) []string {
	command, comment := strings.TrimSpace(line), ""
	if len(front) > indent {
		command, comment = strings.TrimSpace(front), line[len(front):]
	}
	out := fill(strings.Repeat(" ", indent), shellFields(command), indent+4, width, ` \`)
	if comment != "" {
		out = append(out, fill(strings.Repeat(" ", indent+4), strings.Fields(comment), indent+4, width, "")...)
	}
	return out
}

// shellFields returns the words of a command. Quoted words are whole.
func shellFields(command string) []string {
	return fields(command, func(c rune, open bool) bool { return (c == '\'') != open })
}

// usageWords returns the words of a usage line. Text in brackets is one word.
func usageWords(line string) []string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	words := fields(strings.TrimSpace(line), func(c rune, open bool) bool { return c == '[' || open && c != ']' })
	words[0] = indent + words[0]
	return words
}

// fields divides a text at blanks outside of what inside says is whole: it gets each character, and
// whether the one before was inside.
func fields(text string, inside func(c rune, open bool) bool) []string {
	open := false
	return strings.FieldsFunc(text, func(c rune) bool {
		open = inside(c, open)
		return c == ' ' && !open
	})
}
