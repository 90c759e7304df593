package table

import (
	"strings"
	"testing"
)

// Files as public archives give them, each with rows made anew: read right at the first
// try, or refused with a line that says what to do. Where the forms are described:
//
//	housing, yacht, auto-mpg, abalone, airfoil, wine, air quality, concrete: archive.ics.uci.edu
//	GISTEMP: data.giss.nasa.gov/gistemp · CO2: gml.noaa.gov/ccgg/trends · sunspots: sidc.be/SILSO
//	USGS: help.waterdata.usgs.gov, "About tab-delimited output" · DWD: opendata.dwd.de, climate/daily/kl
//	World Bank: data.worldbank.org, CSV · Berkeley Earth: berkeleyearth.org/data · FRED: fred.stlouisfed.org
//	Meuse as GeoEAS: gslib.com/gslib_help/format.html · R: write.table, ?mtcars · ARFF: OpenML
//	ECDC: ecdc.europa.eu, COVID-19 by day · NIST StRD: itl.nist.gov/div898/strd · LIBSVM: housing_scale
//	Eurostat: ec.europa.eu/eurostat, TSV · bank statements: Excel's CSV in Germany
func TestPublicForms(t *testing.T) {
	for _, tc := range []struct{ name, in, want, note string }{
		{"UCI housing", " 0.00632  18.00   2.310  0  0.5380\n 0.02731   0.00   7.070  0  0.4690\n",
			"c1 c2 c3 c4 c5 | 0.00632 18 2.31 0 0.538 | 0.02731 0 7.07 0 0.469", "numbers or dates only"},
		{"UCI yacht", "-2.3 0.568 4.78 3.99 0.11 \n-2.3 0.569 4.78 3.99  0.27 \n\n",
			"c1 c2 c3 c4 c5 | -2.3 0.568 4.78 3.99 0.11 | -2.3 0.569 4.78 3.99 0.27", ""},
		{"UCI auto-mpg", "18.0   8   307.0      130.0      3504.      12.0   70  1\t\"a car\"\n25.0   4   98.00     " +
			" ?          2046.      19.0   71  1\t\"b car\"\n",
			`c1 c2 c3 c4 c5 c6 c7 c8 c9 | 18 8 307 130 3504 12 70 1 "a car" | 25 4 98 - 2046 19 71 1 "b car"`, ""},
		{"UCI abalone", "M,0.455,0.365,15\nF,0.53,0.42,9\nM,0.44,0.365,10\n",
			`c1 c2 c3 c4 | "M" 0.455 0.365 15 | "F" 0.53 0.42 9 | "M" 0.44 0.365 10`, "taken for one"},
		{"UCI airfoil", "800\t0\t0.3048\t71.3\t0.00266337\r\n1000\t0\t0.3048\t71.3\t0.00266337\r\n",
			"c1 c2 c3 c4 c5 | 800 0 0.3048 71.3 0.00266337 | 1000 0 0.3048 71.3 0.00266337", ""},
		{"UCI wine", "\"fixed acidity\";\"pH\";\"quality\"\n7.4;3.51;5\n7.8;3.2;5\n",
			"fixed acidity pH quality | 7.4 3.51 5 | 7.8 3.2 5", ""},
		{"UCI air quality",
			"Date;Time;CO(GT);T;;\n10/03/2004;18.00.00;2,6;13,6;;\n13/03/2004;19.00.00;-200;13,3;;\n;;;;;\n;;;;;\n",
			"Date Time CO(GT) T | 12487 18 2.6 13.6 | 12490 19 -200 13.3", "day first"},
		{"UCI concrete", "\"Cement (component 1)(kg in a m^3 mixture)\",\"Age (day)\",\"Strength(MPa, megapascals) " +
			"\"\n540,28,79.99\n332.5,270,40.27\n",
			"Cement (component 1)(kg in a m^3 mixture) Age (day) Strength(MPa, megapascals) | 540 28 79.99 | " +
				"332.5 270 40.27", ""},
		{"GISTEMP", "Land-Ocean: Global Means\nYear,Jan,Feb,J-D\n1880,-.19,-.25,***\n1881,-.20,-.15,-.09\n",
			"Year Jan Feb J-D | 1880 -0.19 -0.25 - | 1881 -0.2 -0.15 -0.09", "Global Means"},
		{"CO2", "# --------\n# USE OF DATA: free, with a word to us, and a, comma\n#\n# year month decimal\n  1958  " +
			" 3  1958.2027\n  1958   4  1958.2877\n",
			"year month decimal | 1958 3 1958.2027 | 1958 4 1958.2877", "in a comment"},
		{"sunspots", "1749;01;1749.042;  96.7; -1.0;   -1;1\n1749;02;1749.123; 104.3; -1.0;   -1;1\n",
			"c1 c2 c3 c4 c5 c6 c7 | 1749 1 1749.042 96.7 -1 -1 1 | 1749 2 1749.123 104.3 -1 -1 1", ""},
		{"USGS", "#\n# U.S. Geological Survey\n#\nagency_cd\tsite_no\tdatetime\t9_00060\t9_00060_cd\n" +
			"5s\t15s\t20d\t14n\t10s\nUSGS\t03451500\t2024-10-01 01:30\t864\tA\nUSGS\t03451500\t2024-10-01 " +
			"13:30\t870\tA\n",
			`agency_cd site_no datetime 9_00060 9_00060_cd | "USGS" 3.4515e+06 19997.0625 864 "A" | "USGS" ` +
				`3.4515e+06 19997.5625 870 "A"`, "units"},
		{"DWD", "STATIONS_ID;MESS_DATUM;  FX; TMK;eor\n        44;20240101;-999;   2.5;eor\n        44;20240102; " +
			"9.1;   3.1;eor\n",
			`STATIONS_ID MESS_DATUM FX TMK eor | 44 2.0240101e+07 -999 2.5 "eor" | 44 2.0240102e+07 9.1 3.1 "eor"`, ""},
		{"World Bank", "\"Data Source\",\"World Development Indicators\",\n\n\"Last Updated Date\",\"2026-07-01\",\n" +
			"\n\"Country Name\",\"Country Code\",\"2021\",\"2022\",\n\"Aruba\",\"ABW\",\"1.5\",\"\",\n" +
			"\"Chad\",\"TCD\",\"2\",\"3\",\n",
			`Country Name Country Code 2021 2022 | "Aruba" "ABW" 1.5 - | "Chad" "TCD" 2 3`, "2 lines before"},
		{"Berkeley Earth", "% This file contains data.\n% \n% Year, Month,  Anomaly, Unc.\n \n  1850     1    " +
			"-0.788  NaN\n  1850     2    -0.242  0.31\n",
			"Year Month Anomaly Unc. | 1850 1 -0.788 - | 1850 2 -0.242 0.31", "in a comment"},
		{"FRED", "observation_date,GS10\n2024-01-01,4.06\n2024-02-01,.\n",
			"observation_date GS10 | 19723 4.06 | 19754 -", "year first"},
		{"GeoEAS", "Zinc of the Meuse\n3\nx\ny\nzinc\n181072 333611 1022\n181025 333558 1141\n",
			"x y zinc | 181072 333611 1022 | 181025 333558 1141", "GeoEAS"},
		{"R", "\"mpg\" \"cyl\"\n\"Mazda RX4\" 21 6\n\"Datsun 710\" 22.8 4\n",
			"mpg cyl | 21 6 | 22.8 4", "name of the row"},
		{"OpenML", "@relation wine\n@attribute alcohol numeric\n@attribute 'class' {1,2}\n@data\n14.23,1\n13.2,2\n",
			"alcohol class | 14.23 1 | 13.2 2", "ARFF"},
		{"ECDC", "dateRep,cases,popData2019\n14/12/2020,746,38041757\n13/12/2020,298,38041757\n",
			"dateRep cases popData2019 | 18610 746 3.8041757e+07 | 18609 298 3.8041757e+07", "day first"},
		{"NIST", "NIST/ITL StRD\nDataset Name:  Misra1a           (Misra1a.dat)\n\nData:   y               x\n      " +
			"10.07E0      77.6E0\n      14.73E0     114.9E0\n",
			`t.csv: row 1 (line 2): the row has 4 cells, the header 2; cells with blanks in them need quotes; if ` +
				`the table begins further down, --skip N leaves out N lines`, ""},
		{"LIBSVM", "24 1:-1 2:-0.64 3:-0.86\n21.6 1:-0.99 2:-1 3:-0.51\n",
			`t.csv: has cells such as "1:-1" of LIBSVM's sparse format; write it as CSV, a column for each number`, ""},
		{"Eurostat", "freq,geo\\TIME_PERIOD\t2019 \t2020 \nA,AT\t1.5 \t: \nA,BE\t2.5 \t3.5 \n",
			`freq,geo\TIME_PERIOD 2019 2020 | "A,AT" 1.5 - | "A,BE" 2.5 3.5`, ""},
		{"a bank", "Umsätze vom 03.06.2024;;;\n;;;\nBuchungstag;Zweck;Betrag (€);Saldo\n" +
			"03.06.2024;Miete;-1.250,00;2.310,55\n14.06.2024;Lohn;3.000,00;5.310,55\n",
			`Buchungstag Zweck Betrag (€) Saldo | 19877 "Miete" -1250 2310.55 | 19888 "Lohn" 3000 5310.55`,
			"2 lines before"},
		{"Excel in Unicode", "\xff\xfea\x00\t\x00b\x00\r\x00\n\x001\x00\t\x002\x00\r\x00\n\x00", "a b | 1 2", "UTF-16"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, notes := readAs(tc.in, ReadOptions{})
			if got != tc.want || !strings.Contains(notes, tc.note) {
				t.Errorf("%s\ngot  %s\nwant %s\nnotes %s", tc.in, got, tc.want, notes)
			}
		})
	}
}
