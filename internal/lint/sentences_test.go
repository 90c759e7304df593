package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const mostWords = 40 // of a sentence

// TestSentences holds the sentences of README and USAGE to 40 words. Cells of tables, items
// of lists and headings are texts of their own; code is none.
func TestSentences(t *testing.T) {
	for _, name := range []string{"README.md", "docs/USAGE.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paragraphs(string(text)) {
			for _, s := range sentences(p) {
				if n := len(strings.Fields(s)); n > mostWords {
					t.Errorf("%s: %d words: %s", name, n, s)
				}
			}
		}
	}
}

// paragraphs returns the texts of a Markdown file that stand by themselves.
func paragraphs(text string) (out []string) {
	var now []string
	end := func() {
		out, now = append(out, strings.Join(now, " ")), nil
	}
	code := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
			end()
		case code:
		case line == "", strings.HasPrefix(line, "#"), strings.HasPrefix(line, "<"):
			end()
		case strings.HasPrefix(line, "|"):
			end()
			out = append(out, strings.Split(line, "|")...)
		case strings.HasPrefix(line, "- "), anItem.MatchString(line):
			end()
			now = append(now, strings.TrimPrefix(line, "- "))
		default:
			now = append(now, line)
		}
	}
	end()
	return out
}

var (
	anItem = regexp.MustCompile(`^[0-9]+\. `)
	aStop  = regexp.MustCompile("[.!?][)*`\"]*( |$)")
	inCode = regexp.MustCompile("`[^`]*`")
)

// sentences cuts a text behind full stops. A piece of code is one word.
func sentences(text string) []string {
	text = inCode.ReplaceAllString(text, "code")
	var out []string
	for {
		m := aStop.FindStringIndex(text)
		if m == nil {
			return append(out, text)
		}
		out = append(out, text[:m[1]])
		text = text[m[1]:]
	}
}
