package python

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"noxmesh/delivery/imports"
)

// source is a file's text as the parser reads it: UTF-8, each line ended by \n;
// or why it is none, and where.
func source(text []byte) (out []byte, line int, why string) {
	if len(text) > imports.FileLimit {
		return nil, 0, fmt.Sprintf("the file is larger than %d MiB", imports.FileLimit>>20)
	}
	text, marked := bytes.CutPrefix(text, []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(text, '\r') >= 0 {
		text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return nil, lineAt(text, i), "the file holds a zero byte"
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text[:len(text):len(text)], '\n')
	}
	name, line := declared(text)
	switch read := encoding(name); {
	case marked && name != "" && read != readUTF8:
		return nil, line, fmt.Sprintf("the file begins with the mark of UTF-8 and declares %q", name)
	case read == readLatin1:
		return latin1(text), 0, ""
	case read == readASCII || read == readUnknown:
		for i, c := range text {
			if c >= utf8.RuneSelf {
				return nil, lineAt(text, i), fmt.Sprintf("the file declares %q, of which only ASCII is read; UTF-8 is read as it is", name)
			}
		}
		if read == readUnknown {
			return nil, line, fmt.Sprintf("the file declares the encoding %q, which is not known; UTF-8 is read as it is", name)
		}
	case !utf8.Valid(text):
		return nil, invalidLine(text), "the file is not UTF-8, and declares no other encoding"
	}
	return text, 0, ""
}

func lineAt(text []byte, i int) int { return 1 + bytes.Count(text[:i], []byte("\n")) }

// invalidLine is the line of the first byte that is not UTF-8.
func invalidLine(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return lineAt(text, i)
		}
		i += n
	}
	return 0
}

func latin1(text []byte) []byte {
	out := make([]byte, 0, len(text)+len(text)/8)
	for _, c := range text {
		out = utf8.AppendRune(out, rune(c))
	}
	return out
}

// declared is the encoding that one of the first two lines names in a comment, and which.
func declared(text []byte) (name string, line int) {
	for line = 1; line <= 2; line++ {
		here, rest, _ := bytes.Cut(text, []byte("\n"))
		here = bytes.TrimLeft(here, " \t\f")
		if len(here) > 0 && here[0] != '#' {
			return "", 0
		}
		if name := cookie(string(here)); name != "" {
			return name, line
		}
		text = rest
	}
	return "", 0
}

// cookie is what follows coding: or coding= in a comment.
func cookie(comment string) string {
	for {
		_, after, found := strings.Cut(comment, "coding")
		if !found {
			return ""
		}
		comment = after
		if after == "" || after[0] != ':' && after[0] != '=' {
			continue
		}
		after = strings.TrimLeft(after[1:], " \t")
		n := 0
		for n < len(after) && (letter(after[n]) || digit(after[n]) || strings.IndexByte("-_.", after[n]) >= 0) {
			n++
		}
		if n > 0 {
			return after[:n]
		}
	}
}

// reading is how the bytes of an encoding become text.
type reading uint8

const (
	readUTF8 reading = iota
	readLatin1
	readASCII // as far as they are ASCII
	readUnknown
)

// encoding is how a declared encoding is read. Those that begin with ASCII are read as far as that goes.
func encoding(name string) reading {
	name = strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(name))
	switch name {
	case "", "utf-8", "utf8", "u8", "utf", "utf8-ucs2", "utf8-ucs4", "cp65001", "utf-8-sig":
		return readUTF8
	case "latin-1", "latin1", "iso-8859-1", "iso8859-1", "8859", "cp819", "latin", "l1", "iso-latin-1":
		return readLatin1
	case "ascii", "us-ascii", "646", "gbk", "gb2312", "gb18030", "big5", "big5hkscs", "shift-jis", "sjis", "koi8-r", "koi8-u", "hz", "johab", "ptcp154", "tis-620":
		return readASCII
	}
	for _, family := range []string{"latin-1-", "iso-8859-1-", "iso-latin-1-"} {
		if strings.HasPrefix(name, family) {
			return readLatin1
		}
	}
	if strings.HasPrefix(name, "utf-8-") {
		return readUTF8
	}
	for _, family := range []string{"cp", "windows-", "iso-8859-", "iso8859-", "latin-", "latin", "euc-", "euc", "mac-", "iso-2022-", "iso2022-"} {
		if rest, found := strings.CutPrefix(name, family); found && rest != "" && !strings.HasPrefix(name, "cp037") {
			return readASCII
		}
	}
	return readUnknown
}
