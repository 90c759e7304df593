package table

import (
	"archive/zip"
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// A workbook is a zip archive of XML parts (ECMA-376): _rels/.rels names the part of the
// book, the book names its sheets, and relations beside it say which parts hold them, the
// strings of all cells and their styles. What is named and missing is an error, and so is
// malformed XML and a wrong checksum: every part that is used is read to its end.

// A workbook is what the sheets of a file share.
type workbook struct {
	sheets  []string // names of those that have cells, in the order of the book
	parts   map[string]*zip.File
	ofSheet map[string]string // the part that a sheet is in
	strings []string
	isDate  []bool  // of a style: numbers are shown as dates
	epoch   float64 // 1970-01-01 as dates are counted here
}

// partName is how a part is called, however the writer spelt it.
func partName(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/"))
}

// A relation of a part to another.
type relation struct {
	ID     string `xml:"Id,attr"`
	Type   string `xml:"Type,attr"` // a URI; what is after its last slash says what it is
	Target string `xml:"Target,attr"`
	part   string
}

func (r relation) is(kind string) bool { return path.Base(r.Type) == kind }

func readBook(z *zip.Reader) (*workbook, error) {
	w := &workbook{parts: map[string]*zip.File{}, ofSheet: map[string]string{}}
	for _, f := range z.File {
		w.parts[partName(f.Name)] = f
	}
	root, err := w.relations("")
	if err != nil {
		return nil, err
	}
	for _, r := range root {
		if r.is("officeDocument") {
			return w, w.readFrom(r.part)
		}
	}
	return nil, fmt.Errorf("_rels/.rels names no workbook")
}

// readFrom reads the book in a part, and what its sheets share.
func (w *workbook) readFrom(book string) error {
	var b struct {
		Props struct {
			Date1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			Name string     `xml:"name,attr"`
			Attr []xml.Attr `xml:",any,attr"`
		} `xml:"sheets>sheet"`
	}
	if err := w.decode(book, &b); err != nil {
		return err
	}
	w.epoch = 25569 // in days since 1899-12-30
	if b.Props.Date1904 == "1" || b.Props.Date1904 == "true" {
		w.epoch -= 1462
	}
	related, err := w.relations(book)
	if err != nil {
		return err
	}
	byID := map[string]relation{}
	for _, r := range related {
		byID[r.ID] = r
		if err == nil && r.is("sharedStrings") {
			err = w.readStrings(r.part)
		}
		if err == nil && r.is("styles") {
			err = w.readStyles(r.part)
		}
	}
	for _, s := range b.Sheets {
		for _, a := range s.Attr {
			if a.Name.Local != "id" {
				continue
			}
			r, ok := byID[a.Value]
			if err == nil && !ok {
				err = fmt.Errorf("the part of sheet %s is not named", Quote(s.Name))
			}
			if r.is("worksheet") { // and not a chart
				w.sheets, w.ofSheet[s.Name] = append(w.sheets, s.Name), r.part
			}
		}
	}
	return err
}

// relations reads what a part is related to; "" is the archive itself.
func (w *workbook) relations(part string) ([]relation, error) {
	var list struct {
		Relations []relation `xml:"Relationship"`
	}
	dir, name := path.Split(part)
	if err := w.decode(dir+"_rels/"+name+".rels", &list); err != nil {
		return nil, err
	}
	for i, r := range list.Relations {
		if !strings.HasPrefix(r.Target, "/") {
			r.Target = dir + r.Target
		}
		list.Relations[i].part = partName(r.Target)
	}
	return list.Relations, nil
}

// reader reads a part from its beginning. Its last Read fails where the checksum is wrong.
func (w *workbook) reader(part string) (io.ReadCloser, error) {
	f, ok := w.parts[part]
	if !ok {
		return nil, fmt.Errorf("%s is missing", Quote(part))
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Quote(part), err)
	}
	return r, nil
}

// tokens calls f for every token of a part, to its end.
func (w *workbook) tokens(part string, f func(d *xml.Decoder, t xml.Token) error) error {
	r, err := w.reader(part)
	if err != nil {
		return err
	}
	defer r.Close()
	d := xml.NewDecoder(r)
	for {
		t, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = f(d, t)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", Quote(part), err)
		}
	}
}

// decode sets v by a part of one element.
func (w *workbook) decode(part string, v any) error {
	found := false
	err := w.tokens(part, func(d *xml.Decoder, t xml.Token) error {
		if start, ok := t.(xml.StartElement); ok {
			found = true
			return d.DecodeElement(v, &start)
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("%s is empty", Quote(part))
	}
	return err
}

// readStrings reads the strings that cells name by their number.
func (w *workbook) readStrings(part string) error {
	return w.tokens(part, func(d *xml.Decoder, t xml.Token) error {
		start, ok := t.(xml.StartElement)
		if !ok || start.Name.Local != "si" {
			return nil
		}
		s, err := textOf(d)
		w.strings = append(w.strings, s)
		return err
	})
}

// textOf returns the text of the element that has begun: what is in its t, whole or in runs
// of one look each. How it is read aloud (rPh) is no part of it.
func textOf(d *xml.Decoder) (string, error) {
	var text strings.Builder
	for depth, within := 1, false; depth > 0; {
		t, err := d.Token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Local == "rPh" {
				if err := d.Skip(); err != nil {
					return "", err
				}
				continue
			}
			within = t.Name.Local == "t"
			depth++
		case xml.EndElement:
			within = false
			depth--
		case xml.CharData:
			if within {
				text.Write(t)
			}
		}
	}
	return unescaped(text.String()), nil
}

// unescaped replaces _xHHHH_, which is how strings write characters that XML cannot hold.
func unescaped(s string) string {
	from := strings.Index(s, "_x")
	if from < 0 {
		return s
	}
	var b strings.Builder
	for ; from >= 0; from = strings.Index(s, "_x") {
		end := from + 2
		b.WriteString(s[:from])
		if len(s) > from+6 && s[from+6] == '_' {
			if r, err := strconv.ParseUint(s[end:from+6], 16, 16); err == nil {
				b.WriteRune(rune(r))
				s = s[from+7:]
				continue
			}
		}
		b.WriteString(s[from:end])
		s = s[end:]
	}
	return b.String() + s
}

// readStyles finds the styles that show numbers as dates.
func (w *workbook) readStyles(part string) error {
	var styles struct {
		Formats []struct {
			ID   int    `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Cells []struct {
			Format int `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	if err := w.decode(part, &styles); err != nil {
		return err
	}
	dates := map[int]bool{}
	// formats that need no code: dates, and those of China, Japan and Korea
	for _, span := range [][2]int{{14, 17}, {22, 22}, {27, 31}, {36, 36}, {50, 54}, {57, 58}} {
		for id := span[0]; id <= span[1]; id++ {
			dates[id] = true
		}
	}
	for _, f := range styles.Formats {
		dates[f.ID] = showsDate(f.Code)
	}
	for _, c := range styles.Cells {
		w.isDate = append(w.isDate, dates[c.Format])
	}
	return nil
}

// showsDate says whether a format of numbers shows days, years or names of months. What is
// quoted, escaped, padding or in brackets is none of them; [h]:mm is a span, h:mm a time.
func showsDate(format string) bool {
	for i := 0; i < len(format); i++ {
		switch format[i] {
		case '"', '[':
			close := byte('"')
			if format[i] == '[' {
				close = ']'
			}
			end := strings.IndexByte(format[i+1:], close)
			if end < 0 {
				return false
			}
			i += 1 + end
		case '\\', '_', '*':
			i++
		case ';':
			return false // numbers below 0 are shown otherwise
		case 'd', 'D', 'y', 'Y':
			return true
		case 'm', 'M':
			if len(format) > i+2 && strings.EqualFold(format[i:i+3], "mmm") {
				return true
			}
		}
	}
	return false
}
