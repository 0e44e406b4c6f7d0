// Package control is the protocol between the harness and the agent in the guest: one command for
// each TCP connection, as lines of JSON.
//
// The host sends one [Request], then any number of [Input] lines; the agent sends [Output] lines
// and sets Done in the last one. When the command or the connection ends, the agent kills all
// processes of the command's group: a process that is to outlive its command needs setsid.
package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Port is the agent's TCP port in the guest.
const Port = 1023

// Ready is the line that the agent prints on the console when it accepts connections.
const Ready = "linuxpeer: agent ready"

// MaxLine is the limit for a line in bytes. Data is sent in parts of at most MaxData bytes.
const (
	MaxLine = 1 << 17
	MaxData = 1 << 15
)

// Request starts a command.
type Request struct {
	Argv []string `json:"argv"`          // Argv is the program and its arguments.
	Env  []string `json:"env,omitempty"` // Env has additional variables, each as NAME=value.
	Dir  string   `json:"dir,omitempty"` // Dir is the working directory; "/" if empty.
	TTY  bool     `json:"tty,omitempty"` // TTY runs the command on a terminal of its own.
	// Input says that lines of Input follow; otherwise standard input is empty.
	Input bool `json:"input,omitempty"`
}

// Input is a part of the command's standard input. A line with Close set ends it.
type Input struct {
	Data  []byte `json:"data,omitempty"`
	Close bool   `json:"close,omitempty"`
}

// Output is a part of the command's output, or its end.
type Output struct {
	Data  []byte `json:"data,omitempty"`  // Data is a part of the output.
	Err   bool   `json:"err,omitempty"`   // Err says that Data is from standard error.
	Done  bool   `json:"done,omitempty"`  // Done says that the command has ended.
	Code  int    `json:"code,omitempty"`  // Code is the exit code, 128 plus the number of a signal.
	Start string `json:"start,omitempty"` // Start says why the command could not be started.
}

// Write sends a line.
func Write(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) >= MaxLine {
		return fmt.Errorf("control: a line of %d bytes, at most %d", len(b)+1, MaxLine)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// Reader reads lines.
type Reader struct{ r *bufio.Reader }

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReaderSize(r, MaxLine)} }

// Read reads a line into v, a pointer to a Request, Input or Output. It returns io.EOF at the end
// of the stream, and io.ErrUnexpectedEOF if the stream ends within a line.
func (r *Reader) Read(v any) error {
	line, err := r.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return fmt.Errorf("control: a line of more than %d bytes", MaxLine)
	case errors.Is(err, io.EOF) && len(line) > 0:
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("control: %w in line %.64q", err, line)
	}
	return nil
}
