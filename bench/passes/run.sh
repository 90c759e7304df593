#!/bin/sh
# Counts the passes over the kernel matrix that one evaluation takes, by
# preconditioner: rank m and nn neighbours, 8 probes, eps 1, on at most 10000 rows
# (elevators and bike: all). Parameters: the exact method on the first 1000 rows.
#
#	go run ./bench/split -set NAME -split 0 -dir DIR	for each of the five sets
#	bench/passes/run.sh DIR [SET...]
#
# The last column is what a float64 prototype needed for a true error of 1 nat at
# parameters of other subsets; bounds that prove it take 1 to 3 passes more.
set -eu
dir=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go build -o "$tmp/bbgp" ./cmd/bbgp

cells() {
	case $1 in
	elevators) echo "300:0:5 1000:0:5 0:32:19 200:32:6" ;;
	pol) echo "300:0:65 1000:0:40 2000:0:30 0:16:25 0:32:16 0:64:11 0:128:6 200:32:15" ;;
	bike) echo "0:16:10 0:32:6 0:64:5 1000:0:165 2000:0:100" ;;
	protein) echo "300:0:15 1000:0:10 0:32:14 300:32:12" ;;
	kin40k) echo "0:32:52 0:64:28 0:128:16 300:32:32 300:0:120 1000:0:85" ;;
	*) echo "no set $1" >&2; exit 2 ;;
	esac
}

field() { sed -n "s/^ *\"$1\": \([^,]*\),*$/\1/p" "$tmp/out.json" | head -n1; }

echo "set m nn passes precision cpu_s prototype"
for set in ${*:-elevators pol bike protein kin40k}; do
	rows=10000
	case $set in elevators | bike) rows=20000 ;; esac
	head -n 1001 "$dir/$set-train.csv" >"$tmp/some.csv"
	head -n $((rows + 1)) "$dir/$set-train.csv" >"$tmp/all.csv"
	"$tmp/bbgp" fit "$tmp/some.csv" --target y --method exact --json --quiet >"$tmp/fit.json"
	for cell in $(cells "$set"); do
		m=${cell%%:*} want=${cell##*:} nn=${cell#*:}
		nn=${nn%:*}
		"$tmp/bbgp" lml "$tmp/all.csv" --target y --params "$tmp/fit.json" --rank "$m" --neighbours "$nn" --probes 8 --json --quiet >"$tmp/out.json"
		echo "$set $m $nn $(field passes) $(field precision | tr -d '"') $(field cpu_seconds) $want"
	done
done
