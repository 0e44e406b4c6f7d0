package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// example is a state of the page that a user can choose, with the fields that page.js loads.
type example struct {
	Title string `json:"title"`
	Name  string `json:"name"`
	Text  string `json:"text"`
	Data  string `json:"data"`
	Type  string `json:"type"`
}

// examples returns the examples. An interface can have bytes, in a file of the same name.
func examples() ([]example, error) {
	list := []example{
		{Title: "a sketch with faults", Name: "faults.x"},
		{Title: "a program, and a Call", Name: "notes.x"},
		{Title: "a draft, and a message", Name: "draft.txt", Type: "type:kv_message"},
	}
	for i := range list {
		e := &list[i]
		text, err := web.ReadFile("web/examples/" + e.Name)
		if err != nil {
			return nil, err
		}
		e.Text = string(text)
		data, err := web.ReadFile("web/examples/" + strings.TrimSuffix(e.Name, path.Ext(e.Name)) + ".hex")
		if err == nil {
			e.Data = string(data)
		}
	}
	return list, nil
}

// script returns JSON, or a text, for an element script: it must not end the element.
func script(v any) (string, error) {
	if s, ok := v.(string); ok {
		if bytes.Contains(bytes.ToLower([]byte(s)), []byte("</script")) || strings.Contains(s, "<!--") {
			return "", fmt.Errorf("a script contains the end of a script, or a comment of HTML")
		}
		return s, nil
	}
	out, err := json.Marshal(v) // with < as \u003c
	return string(out), err
}
