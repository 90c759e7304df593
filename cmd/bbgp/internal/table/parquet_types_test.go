package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// As is a physical type with the annotations of a column.
type annotated struct {
	parquet.Type
	logical   format.LogicalTypeValue
	converted deprecated.ConvertedType
}

func (a annotated) LogicalType() *format.LogicalType {
	if a.logical == nil {
		return nil
	}
	return &format.LogicalType{Value: a.logical}
}

func (a annotated) ConvertedType() *deprecated.ConvertedType {
	if a.converted == 0 {
		return nil
	}
	return &a.converted
}

// columnFile is a file of one column c, optional, that holds the value and a null.
func columnFile(t *testing.T, typ parquet.Type, v parquet.Value) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewWriter(&b, parquet.NewSchema("s", parquet.Group{"c": parquet.Optional(parquet.Leaf(typ))}))
	if _, err := w.WriteRows([]parquet.Row{{v.Level(0, 1, 0)}, {parquet.NullValue().Level(0, 0, 0)}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func csvOf(b []byte) (string, error) {
	f, err := Open(Stdin, bytes.NewReader(b), ReadOptions{})
	if err != nil {
		return "", err
	}
	s, err := io.ReadAll(f)
	return string(s), err
}

var units = [...]format.TimeUnit{{Value: new(format.MilliSeconds)}, {Value: new(format.MicroSeconds)},
	{Value: new(format.NanoSeconds)}}

// A typeCase is a column, and its cell or what the refusal says.
type typeCase struct {
	name      string
	typ       parquet.Type
	logical   format.LogicalTypeValue
	converted deprecated.ConvertedType
	value     parquet.Value
	cell      string
	fault     string
}

func bytesOf(s string) parquet.Value { return parquet.ByteArrayValue([]byte(s)) }
func fixed(s string) parquet.Value   { return parquet.FixedLenByteArrayValue([]byte(s)) }

func half(bits uint16) parquet.Value {
	return parquet.FixedLenByteArrayValue(binary.LittleEndian.AppendUint16(nil, bits))
}

func typeCases() []typeCase {
	i32, i64, bin := parquet.Int32Type, parquet.Int64Type, parquet.ByteArrayType
	of := parquet.FixedLenByteArrayType
	dec := func(scale int32) format.LogicalTypeValue { return &format.DecimalType{Scale: scale, Precision: 30} }
	when := time.Date(2024, 2, 29, 6, 7, 8, 9, time.UTC)
	julian := deprecated.Int96{0, 0, 2460370} // 2024-02-29
	nanos := uint64(when.Sub(when.Truncate(24 * time.Hour)))
	julian[0], julian[1] = uint32(nanos), uint32(nanos>>32)
	return []typeCase{
		{name: "boolean", typ: parquet.BooleanType, value: parquet.BooleanValue(true), cell: "1"},
		{name: "int32", typ: i32, value: parquet.Int32Value(-7), cell: "-7"},
		{name: "int64", typ: i64, value: parquet.Int64Value(math.MinInt64), cell: "-9223372036854775808"},
		{name: "float", typ: parquet.FloatType, value: parquet.FloatValue(0.1), cell: "0.1"},
		{name: "double", typ: parquet.DoubleType, value: parquet.DoubleValue(math.Pi), cell: "3.141592653589793"},
		{name: "int96", typ: parquet.Int96Type, value: parquet.Int96Value(julian),
			cell: "2024-02-29T06:07:08.000000009"},
		{name: "int96 of no time", typ: parquet.Int96Type,
			value: parquet.Int96Value(deprecated.Int96{0, 1 << 31, 3}), fault: "INT96"},
		{name: "text of old writers", typ: bin, value: bytesOf("a \"b\""), cell: `"a ""b"""`},
		{name: "bytes", typ: bin, value: bytesOf("\x00\x01"), fault: "zero bytes"},
		{name: "more bytes", typ: bin, value: bytesOf("\xff\xfe"), fault: "no text in UTF-8"},
		{name: "fixed bytes", typ: of(3), value: fixed("\xc3\x28x"), fault: "no text in UTF-8"},

		{name: "string", typ: bin, logical: new(format.StringType), value: bytesOf("é"), cell: `"é"`},
		{name: "utf8", typ: bin, converted: deprecated.UTF8, value: bytesOf("x,y"), cell: `"x,y"`},
		{name: "string of bytes", typ: bin, logical: new(format.StringType), value: bytesOf("caf\xe9"),
			fault: "no text in UTF-8"},
		{name: "enum", typ: bin, logical: new(format.EnumType), value: bytesOf("UP"), cell: `"UP"`},
		{name: "old enum", typ: bin, converted: deprecated.Enum, value: bytesOf("UP"), cell: `"UP"`},
		{name: "json", typ: bin, logical: new(format.JsonType), value: bytesOf(`{"a":1}`), cell: `"{""a"":1}"`},
		{name: "old json", typ: bin, converted: deprecated.Json, value: bytesOf(`1`), cell: `"1"`},
		{name: "bson", typ: bin, logical: new(format.BsonType), value: bytesOf("\x05\x00\x00\x00\x00"), fault: "BSON"},
		{name: "old bson", typ: bin, converted: deprecated.Bson, value: bytesOf("\x05\x00\x00\x00\x00"), fault: "BSON"},
		{name: "uuid", typ: of(16), logical: new(format.UUIDType),
			value: fixed("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"),
			cell:  "00112233-4455-6677-8899-aabbccddeeff"},
		{name: "geometry", typ: bin, logical: new(format.GeometryType), value: bytesOf("x"), fault: "GEOMETRY"},
		{name: "geography", typ: bin, logical: new(format.GeographyType), value: bytesOf("x"), fault: "GEOGRAPHY"},
		{name: "interval", typ: of(12), converted: deprecated.Interval,
			value: fixed("123456789012"), fault: "INTERVAL"},

		{name: "decimal in int32", typ: i32, logical: dec(2), value: parquet.Int32Value(-125), cell: "-125e-2"},
		{name: "decimal in int64", typ: i64, logical: dec(0), value: parquet.Int64Value(5), cell: "5"},
		{name: "decimal zero", typ: bin, logical: dec(2), value: bytesOf("\x00"), cell: "0e-2"},
		{name: "decimal 0.32", typ: bin, logical: dec(2), value: bytesOf("\x20"), cell: "32e-2"},
		{name: "decimal negative", typ: bin, logical: dec(2), value: bytesOf("\xff\x7f"), cell: "-129e-2"},
		{name: "decimal long", typ: of(16), logical: dec(10), value: fixed("\x80" + strings.Repeat("\x00", 15)),
			cell: "-170141183460469231731687303715884105728e-10"},
		{name: "decimal without bytes", typ: bin, logical: dec(2), value: bytesOf(""), fault: "decimal of 0 bytes"},
		{name: "decimal of a scale", typ: i32, logical: dec(1 << 30), value: parquet.Int32Value(1), fault: "scale"},

		{name: "half", typ: of(2), logical: new(format.Float16Type), value: half(0x3c01), cell: "1.0009765625"},
		{name: "half least", typ: of(2), logical: new(format.Float16Type), value: half(0x8001),
			cell: "-5.960464477539063e-08"},
		{name: "half most", typ: of(2), logical: new(format.Float16Type), value: half(0x7bff), cell: "65504"},
		{name: "half inf", typ: of(2), logical: new(format.Float16Type), value: half(0x7c00), cell: "inf"},
		{name: "half nan", typ: of(2), logical: new(format.Float16Type), value: half(0x7e00), cell: "NaN"},
		{name: "half zero", typ: of(2), logical: new(format.Float16Type), value: half(0), cell: "0"},
		{name: "half of 3 bytes", typ: of(3), logical: new(format.Float16Type), value: fixed("abc"), fault: "FLOAT16"},

		{name: "date", typ: i32, logical: new(format.DateType), value: parquet.Int32Value(-1), cell: "1969-12-31"},
		{name: "old date", typ: i32, converted: deprecated.Date, value: parquet.Int32Value(19782), cell: "2024-02-29"},
		{name: "time ms", typ: i32, logical: &format.TimeType{Unit: units[0]},
			value: parquet.Int32Value(1500), cell: "1500e-3"},
		{name: "time us", typ: i64, logical: &format.TimeType{Unit: units[1]},
			value: parquet.Int64Value(7), cell: "7e-6"},
		{name: "time ns", typ: i64, logical: &format.TimeType{Unit: units[2]},
			value: parquet.Int64Value(7), cell: "7e-9"},
		{name: "old time ms", typ: i32, converted: deprecated.TimeMillis, value: parquet.Int32Value(7), cell: "7e-3"},
		{name: "old time us", typ: i64, converted: deprecated.TimeMicros, value: parquet.Int64Value(7), cell: "7e-6"},
		{name: "stamp ms", typ: i64, logical: &format.TimestampType{Unit: units[0], IsAdjustedToUTC: true},
			value: parquet.Int64Value(-1), cell: "1969-12-31T23:59:59.999Z"},
		{name: "stamp us", typ: i64, logical: &format.TimestampType{Unit: units[1]},
			value: parquet.Int64Value(when.UnixMicro()), cell: "2024-02-29T06:07:08"},
		{name: "stamp ns", typ: i64, logical: &format.TimestampType{Unit: units[2]},
			value: parquet.Int64Value(when.UnixNano()), cell: "2024-02-29T06:07:08.000000009"},
		{name: "old stamp ms", typ: i64, converted: deprecated.TimestampMillis, value: parquet.Int64Value(0),
			cell: "1970-01-01T00:00:00Z"},
		{name: "old stamp us", typ: i64, converted: deprecated.TimestampMicros, value: parquet.Int64Value(1),
			cell: "1970-01-01T00:00:00.000001Z"},

		{name: "int 8", typ: i32, logical: &format.IntType{BitWidth: 8, IsSigned: true},
			value: parquet.Int32Value(-8), cell: "-8"},
		{name: "uint 32", typ: i32, logical: &format.IntType{BitWidth: 32},
			value: parquet.Int32Value(-1), cell: "4294967295"},
		{name: "uint 64", typ: i64, logical: &format.IntType{BitWidth: 64}, value: parquet.Int64Value(-1),
			cell: "18446744073709551615"},
		{name: "old uint 16", typ: i32, converted: deprecated.Uint16, value: parquet.Int32Value(65535), cell: "65535"},
		{name: "old uint 64", typ: i64, converted: deprecated.Uint64, value: parquet.Int64Value(-2),
			cell: "18446744073709551614"},
		{name: "old int 64", typ: i64, converted: deprecated.Int64, value: parquet.Int64Value(-2), cell: "-2"},
		{name: "int 64 in int32", typ: i32, logical: &format.IntType{BitWidth: 64, IsSigned: true},
			value: parquet.Int32Value(1), fault: "stored as INT32"},
	}
}

// A column of every type has the number or the text that it means, or is refused by
// name; a null is an empty cell.
func TestParquetTypes(t *testing.T) {
	for _, c := range typeCases() {
		b := columnFile(t, annotated{c.typ, c.logical, c.converted}, c.value)
		s, err := csvOf(b)
		var e *Error
		switch {
		case c.fault != "":
			if !errors.As(err, &e) || e.Column != "c" || !strings.Contains(e.Text, c.fault) {
				t.Errorf("%s: %q, %v", c.name, s, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case s != "\"c\"\n"+c.cell+"\n\"\"\n":
			t.Errorf("%s: %q, want %q", c.name, s, c.cell)
		}
	}
}

// Every logical type that the library knows stands in the table above, or is that of
// a group.
func TestParquetTypesComplete(t *testing.T) {
	seen := map[int16]bool{}
	for _, c := range typeCases() {
		if c.logical != nil {
			seen[c.logical.FieldID()] = true
		}
	}
	for _, m := range (*format.LogicalType)(nil).UnionMembers() {
		switch m.(type) {
		case *format.MapType, *format.ListType, *format.VariantType, *format.NullType: // TestParquetShapes
			continue
		}
		if !seen[m.FieldID()] {
			t.Errorf("logical type %d is not tested", m.FieldID())
		}
	}
}

// Bytes that say they are decimals are numbers all the way to the table.
func TestParquetDecimalsLoad(t *testing.T) {
	var b bytes.Buffer
	typ := annotated{parquet.ByteArrayType, &format.DecimalType{Scale: 2, Precision: 9}, 0}
	w := parquet.NewWriter(&b, parquet.NewSchema("s", parquet.Group{"c": parquet.Leaf(typ)}))
	for i := range 300 {
		v := int16(i - 150)
		value := parquet.ByteArrayValue([]byte{byte(v >> 8), byte(v)})
		if _, err := w.WriteRows([]parquet.Row{{value.Level(0, 0, 0)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(Stdin, &b, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader("f", f, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tab, err := Load(r, Request{})
	if err != nil {
		t.Fatal(err)
	}
	c := tab.Columns[0]
	if tab.Rows != 300 || c.Missing != 0 || c.Text != 0 {
		t.Fatalf("%d rows, %d missing, %d texts", tab.Rows, c.Missing, c.Text)
	}
	for i, v := range c.Num {
		if v != float64(i-150)/100 {
			t.Errorf("row %d is %v", i, v)
		}
	}
}

// Nested columns, columns of nulls, and what is no column of single values.
func TestParquetShapes(t *testing.T) {
	type inner struct{ X *float64 }
	type row struct {
		A float64
		B struct{ C, D int32 }
		E *inner
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	x := 2.5
	r := row{A: 1, E: &inner{&x}}
	r.B.C, r.B.D = 3, 4
	if _, err := w.Write([]row{r, {}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := csvOf(b.Bytes()); err != nil || s != "\"A\",\"B.C\",\"B.D\",\"E.X\"\n1,3,4,2.5\n0,0,0,\n" {
		t.Errorf("%q, %v", s, err)
	}
	for name, node := range map[string]parquet.Node{
		"MAP":     parquet.Map(parquet.String(), parquet.Leaf(parquet.DoubleType)),
		"LIST":    parquet.List(parquet.Leaf(parquet.DoubleType)),
		"VARIANT": parquet.Variant(),
	} {
		var b bytes.Buffer
		var e *Error
		err := parquet.NewWriter(&b, parquet.NewSchema("s", parquet.Group{"c": node})).Close()
		if err != nil {
			t.Fatal(err)
		}
		if s, err := csvOf(b.Bytes()); !errors.As(err, &e) || !strings.HasPrefix(e.Column, "c") {
			t.Errorf("%s: %q, %v", name, s, err)
		}
	}
	if w, fault := cellsOf(&format.SchemaElement{Type: thrift.New(format.Int32),
		LogicalType: format.LogicalType{Value: new(format.NullType)}}); fault != "" {
		t.Error(fault)
	} else if _, fault := w(nil, parquet.Int32Value(1)); fault == "" {
		t.Error("a value in a column of nulls passes")
	}
}
