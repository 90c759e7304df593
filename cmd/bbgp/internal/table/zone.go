package table

import (
	"strings"
	"time"

	"bbgp.dev/cmd/bbgp/internal/pattern"
)

// zones are hours to the east of Greenwich, by the names that have one meaning; those of
// America are by RFC 5322. IST, BST and the like have several and are refused.
var zones = map[string]float64{"UTC": 0, "GMT": 0, "Z": 0, "UT": 0,
	"WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "MEZ": 1, "MESZ": 2, "MET": 1, "MEST": 2, "EET": 2, "EEST": 3, "MSK": 3,
	"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "AKST": -9, "AKDT": -8,
	"HST": -10, "SAST": 2, "JST": 9, "KST": 9, "AWST": 8, "ACST": 9.5, "ACDT": 10.5, "AEST": 10, "AEDT": 11,
	"NZST": 12, "NZDT": 13}

var (
	// A note in brackets behind a numeric zone, as Java and browsers write it.
	zoneNote = pattern.Of(`([+-][0-9]{2}:?[0-9]{2}) ?(\[[A-Z_/+0-9-]+\]|\([A-Z .]+\))$`)
	zoneName = pattern.Of(`([0-9.]|AM|PM) ?([A-Z]{1,4})$`)
)

// zoneOf cuts the time zone off a time of day, in capitals, and returns its hours to the
// east of Greenwich: 0 where there is none.
func zoneOf(s string) (rest string, hours float64, ok bool) {
	if s == "" {
		return s, 0, false
	}
	if strings.HasSuffix(s, "]") || strings.HasSuffix(s, ")") {
		s = zoneNote().ReplaceAllString(s, "$1")
	}
	if last := s[len(s)-1:]; last < "A" {
		return offset(s)
	}
	if m := zoneName().FindStringSubmatchIndex(s); m != nil {
		name := s[m[4]:m[5]]
		if name == "AM" || name == "PM" {
			return s, 0, true
		}
		hours, ok = zones[name]
		return s[:m[3]], hours, ok
	}
	return s, 0, true
}

// offset cuts +01:00 and the like off a time of day.
func offset(s string) (rest string, hours float64, ok bool) {
	i := strings.LastIndexAny(s, "+-")
	if i <= 0 {
		return s, 0, true
	}
	hm := strings.ReplaceAll(s[i+1:], ":", "")
	if len(hm) == 2 {
		hm += "00"
	}
	t, err := time.Parse("1504", hm)
	if err != nil {
		return s, 0, false
	}
	hours = float64(t.Hour()) + float64(t.Minute())/60
	if s[i] == '-' {
		hours = -hours
	}
	rest = strings.TrimSpace(s[:i])
	for _, z := range []string{"UTC", "GMT"} {
		rest = strings.TrimSpace(strings.TrimSuffix(rest, z))
	}
	return rest, hours, true
}
