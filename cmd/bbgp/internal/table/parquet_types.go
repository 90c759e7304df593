package table

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// How the values of a Parquet column become cells. The bytes of a value mean
// nothing without the logical type of its column: what has no number and no text
// here is refused by name, so that bytes are never taken for either.

// A cellWriter appends the text of a value to b; fault says why it has none.
type cellWriter func(b []byte, v parquet.Value) (text []byte, fault string)

const (
	mostDecimalBytes = 128 // 308 digits, as many as a float64 has before its point
	mostScale        = 400
	dayNanos         = int64(24 * time.Hour)
	julianEpoch      = 2440588 // Julian day of 1970-01-01
)

// cellsOf returns how the values of a leaf of the schema become text; fault says
// why they do not.
func cellsOf(s *format.SchemaElement) (w cellWriter, fault string) {
	logical := s.LogicalType.Value
	if logical == nil {
		if s.ConvertedType.Valid && s.ConvertedType.V == deprecated.Interval {
			return nil, "holds intervals (INTERVAL), which are no numbers; write them as numbers of one unit"
		}
		logical = convertedType(s)
	}
	if !s.Type.Valid {
		return nil, "has no physical type; write it as numbers or text"
	}
	kind := parquet.Kind(s.Type.V)
	if logical == nil {
		return plainCells(kind)
	}
	if !storedAs(logical, kind, int(s.TypeLength.V)) {
		return nil, fmt.Sprintf("damaged Parquet data: %s stored as %s", logical, kind)
	}
	switch l := logical.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return textCell, ""
	case *format.UUIDType:
		return uuidCell, ""
	case *format.DateType:
		return dateCell, ""
	case *format.TimeType:
		return timeCell(l), ""
	case *format.TimestampType:
		return timestampCell(l), ""
	case *format.Float16Type:
		return halfCell, ""
	case *format.NullType:
		return nullCell, ""
	case *format.DecimalType:
		if l.Scale < -mostScale || l.Scale > mostScale {
			return nil, fmt.Sprintf("damaged Parquet data: a decimal scale of %d", l.Scale)
		}
		return decimalCell(int(l.Scale)), ""
	case *format.IntType:
		if l.IsSigned {
			return plainCells(kind)
		}
		return unsignedCell, ""
	}
	return nil, fmt.Sprintf("is of type %s, which is neither number nor text; write it as one of them", logical)
}

// convertedType is the logical type that an older writer meant; nil for none.
func convertedType(s *format.SchemaElement) format.LogicalTypeValue {
	if !s.ConvertedType.Valid {
		return nil
	}
	unit := func(u format.TimeUnitValue) format.TimeUnit { return format.TimeUnit{Value: u} }
	switch c := s.ConvertedType.V; c {
	case deprecated.UTF8:
		return new(format.StringType)
	case deprecated.Enum:
		return new(format.EnumType)
	case deprecated.Json:
		return new(format.JsonType)
	case deprecated.Bson:
		return new(format.BsonType)
	case deprecated.Decimal:
		return &format.DecimalType{Scale: s.Scale.V, Precision: s.Precision.V}
	case deprecated.Date:
		return new(format.DateType)
	case deprecated.TimeMillis:
		return &format.TimeType{IsAdjustedToUTC: true, Unit: unit(new(format.MilliSeconds))}
	case deprecated.TimeMicros:
		return &format.TimeType{IsAdjustedToUTC: true, Unit: unit(new(format.MicroSeconds))}
	case deprecated.TimestampMillis:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: unit(new(format.MilliSeconds))}
	case deprecated.TimestampMicros:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: unit(new(format.MicroSeconds))}
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return &format.IntType{BitWidth: 8 << (c - deprecated.Uint8)}
	case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		return &format.IntType{BitWidth: 8 << (c - deprecated.Int8), IsSigned: true}
	}
	return nil // of groups
}

// storedAs says whether the format allows values of the logical type to be stored
// so; length is that of fixed-length arrays.
func storedAs(logical format.LogicalTypeValue, kind parquet.Kind, length int) bool {
	array := kind == parquet.ByteArray || kind == parquet.FixedLenByteArray
	switch l := logical.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return array
	case *format.UUIDType:
		return kind == parquet.FixedLenByteArray && length == 16
	case *format.Float16Type:
		return kind == parquet.FixedLenByteArray && length == 2
	case *format.DateType:
		return kind == parquet.Int32
	case *format.TimeType:
		if l.Unit.Value == nil {
			return false
		}
		if _, milli := l.Unit.Value.(*format.MilliSeconds); milli {
			return kind == parquet.Int32
		}
		return kind == parquet.Int64
	case *format.TimestampType:
		return kind == parquet.Int64 && l.Unit.Value != nil
	case *format.DecimalType:
		return array || kind == parquet.Int32 || kind == parquet.Int64
	case *format.IntType:
		return kind == parquet.Int32 && l.BitWidth <= 32 || kind == parquet.Int64 && l.BitWidth == 64
	}
	return true
}

// plainCells is of columns without a logical type.
func plainCells(kind parquet.Kind) (cellWriter, string) {
	switch kind {
	case parquet.Boolean:
		return func(b []byte, v parquet.Value) ([]byte, string) { return append(b, '0'+byte(btoi(v.Boolean()))), "" },
			""
	case parquet.Int32, parquet.Int64:
		return func(b []byte, v parquet.Value) ([]byte, string) { return strconv.AppendInt(b, whole(v), 10), "" }, ""
	case parquet.Int96:
		return int96Cell, ""
	case parquet.Float:
		return func(b []byte, v parquet.Value) ([]byte, string) { return appendFloat(b, float64(v.Float()), 32), "" },
			""
	case parquet.Double:
		return func(b []byte, v parquet.Value) ([]byte, string) { return appendFloat(b, v.Double(), 64), "" }, ""
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return textCell, "" // older writers do not say that it is text
	}
	return nil, fmt.Sprintf("damaged Parquet data: physical type %d", int(kind))
}

func whole(v parquet.Value) int64 {
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

func unsignedCell(b []byte, v parquet.Value) ([]byte, string) {
	if v.Kind() == parquet.Int32 {
		return strconv.AppendUint(b, uint64(v.Uint32()), 10), ""
	}
	return strconv.AppendUint(b, v.Uint64(), 10), ""
}

// textCell takes text in UTF-8: other bytes are no text, and zero bytes would be
// taken for blanks.
func textCell(b []byte, v parquet.Value) ([]byte, string) {
	s := v.ByteArray()
	if !utf8.Valid(s) {
		return b, Quote(string(s)) + " is no text in UTF-8; write the column as numbers or text"
	}
	for _, c := range s {
		if c == 0 {
			return b, Quote(string(s)) + " holds zero bytes, which no text has; write the column as numbers or text"
		}
	}
	return appendQuoted(b, s), ""
}

func uuidCell(b []byte, v parquet.Value) ([]byte, string) {
	u := v.ByteArray()
	if len(u) != 16 {
		return b, fmt.Sprintf("damaged Parquet data: a UUID of %d bytes", len(u))
	}
	for i, end := range []int{4, 6, 8, 10, 16} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, u[[]int{0, 4, 6, 8, 10}[i]:end])
	}
	return b, ""
}

func nullCell(b []byte, v parquet.Value) ([]byte, string) {
	return b, "damaged Parquet data: a value in a column of nulls"
}

// halfCell reads a float of 16 bits: sign, 5 bits of exponent, 10 of fraction.
func halfCell(b []byte, v parquet.Value) ([]byte, string) {
	raw := v.ByteArray()
	if len(raw) != 2 {
		return b, fmt.Sprintf("damaged Parquet data: a FLOAT16 of %d bytes", len(raw))
	}
	h := binary.LittleEndian.Uint16(raw)
	fraction, exponent := float64(h&0x3ff), int(h>>10&0x1f)
	x := math.Ldexp(1024+fraction, exponent-25)
	switch {
	case exponent == 0:
		x = math.Ldexp(fraction, -24)
	case exponent == 31 && fraction == 0:
		x = math.Inf(1)
	case exponent == 31:
		x = math.NaN()
	}
	if h&0x8000 != 0 {
		x = -x
	}
	return appendFloat(b, x, 64), ""
}

// decimalCell reads whole numbers of units of 10^-scale: integers, or bytes of a
// two's complement, the most significant first.
func decimalCell(scale int) cellWriter {
	exponent := ""
	if scale != 0 {
		exponent = fmt.Sprintf("e%d", -scale)
	}
	return func(b []byte, v parquet.Value) ([]byte, string) {
		switch v.Kind() {
		case parquet.Int32, parquet.Int64:
			return append(strconv.AppendInt(b, whole(v), 10), exponent...), ""
		}
		raw := v.ByteArray()
		if len(raw) == 0 || len(raw) > mostDecimalBytes {
			return b, fmt.Sprintf("is a decimal of %d bytes; there are numbers of 1 to %d", len(raw), mostDecimalBytes)
		}
		z := new(big.Int).SetBytes(raw)
		if raw[0]&0x80 != 0 {
			z.Sub(z, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
		}
		return append(z.Append(b, 10), exponent...), ""
	}
}

func dateCell(b []byte, v parquet.Value) ([]byte, string) {
	return time.Unix(whole(v)*86400, 0).UTC().AppendFormat(b, time.DateOnly), ""
}

// timeCell gives a time of day as seconds since midnight.
func timeCell(l *format.TimeType) cellWriter {
	digits := len(strconv.FormatInt(int64(time.Second/l.Unit.Value.Duration()), 10)) - 1
	return func(b []byte, v parquet.Value) ([]byte, string) {
		return append(strconv.AppendInt(b, whole(v), 10), fmt.Sprintf("e-%d", digits)...), ""
	}
}

const localTime = "2006-01-02T15:04:05.999999999"

// timestampCell gives instants with the Z of UTC, local times without.
func timestampCell(l *format.TimestampType) cellWriter {
	unit, layout := l.Unit.Value.Duration(), localTime
	if l.IsAdjustedToUTC {
		layout += "Z07:00"
	}
	per := int64(time.Second / unit)
	return func(b []byte, v parquet.Value) ([]byte, string) {
		n := whole(v)
		return time.Unix(n/per, n%per*int64(unit)).UTC().AppendFormat(b, layout), ""
	}
}

// int96Cell reads a time of older writers: nanoseconds of the day, Julian day.
func int96Cell(b []byte, v parquet.Value) ([]byte, string) {
	t := v.Int96()
	nanos := int64(uint64(t[1])<<32 | uint64(t[0]))
	if nanos < 0 || nanos > dayNanos {
		return b, "is a time (INT96) of more than a day; write the column as timestamps or numbers"
	}
	days := int64(int32(t[2])) - julianEpoch
	return time.Unix(days*86400, nanos).UTC().AppendFormat(b, localTime), ""
}

func appendFloat(b []byte, v float64, bits int) []byte {
	if math.IsInf(v, 0) {
		return append(b, "inf"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

// appendQuoted writes a text cell.
func appendQuoted[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' {
			b = append(b, '"')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}
