package cli

import (
	"errors"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// complaints lists messages of the flag parser with their replacements, which name the value found
// and the value expected.
var complaints = []struct {
	parser *regexp.Regexp
	plain  string
}{
	{regexp.MustCompile(`; perhaps try .*$`), ""},
	{regexp.MustCompile(` \(short flag\)$`), ""},
	{regexp.MustCompile(`^missing flags: (--[\w-]+).*$`), "$1 is missing"},
	{regexp.MustCompile(`: expected \S+ value but got "EOL" .*$`), ": the value is missing"},
	{regexp.MustCompile(`: expected \S+ value but got "--" .*$`), ": the value is missing"},
	{regexp.MustCompile(`: missing value, expecting ".*"$`), ": the value is missing"},
	{regexp.MustCompile(`: expected uint\d* value but got ("-[^"]*").*$`), ": found $1, expected a number, 0 or more"},
	{regexp.MustCompile(`: expected duration value but got ("-\d[^"]*").*$`), ": found $1, expected a duration that is not negative"},
	{regexp.MustCompile(`: expected \S+ value but got ("-[^"]*").*$`), ": found $1, expected a value that does not begin with -"},
	{regexp.MustCompile(`: expected a valid 32 bit uint but got (".*")$`), ": found $1, expected a number from 0 to 4294967295"},
	{regexp.MustCompile(`: expected a valid \d+ bit uint but got (".*")$`), ": found $1, expected a number, 0 or more"},
	{regexp.MustCompile(`: expected a valid \d+ bit int but got (".*")$`), ": found $1, expected a number"},
	{regexp.MustCompile(`: expected duration but got ("[^"]*").*$`), ": found $1, expected a duration with its unit, such as 500ms or 5s"},
	{regexp.MustCompile(`: bool value must be .* but got (".*")$`), ": found $1, expected true or false"},
	{regexp.MustCompile(`^(--[\w-]+) must be one of (.*) but got (".*")$`), "$1: found $3, expected one of $2"},
}

var (
	argument = regexp.MustCompile(`^expected "<(\w+)>.*"$`)
	longFlag = regexp.MustCompile(`--[a-zA-Z][\w-]*`)
)

// Complaint returns an error of the flag parser in the words of the help: flags have one dash, and
// a flag of the command with a short name is called by it.
func Complaint(app *kong.Application, command string, err error) error {
	message := err.Error()
	if m := unknown(app, command, message); m != "" {
		return errors.New(m)
	}
	for _, c := range complaints {
		message = c.parser.ReplaceAllString(message, c.plain)
	}
	if m := argument.FindStringSubmatch(message); m != nil {
		return errors.New(strings.ToUpper(m[1]) + " is missing")
	}
	short := map[string]string{}
	for _, c := range app.Children {
		for _, f := range c.Flags {
			if c.Name == command && f.Short != 0 {
				short["--"+f.Name] = "-" + string(f.Short)
			}
		}
	}
	return errors.New(longFlag.ReplaceAllStringFunc(message, func(flag string) string {
		if s := short[flag]; s != "" {
			return s
		}
		return flag[1:]
	}))
}
