#!/bin/sh
# Compares bbgp's products and factorisations with OpenBLAS, in turns, by CPU
# time: what else runs on the machine slows both alike.
#
#	bench/openblas/run.sh [threads] [rounds]
#
# OPENBLAS names the library; without it, Debian's packages are unpacked into a
# temporary directory (nothing is installed).
set -eu
threads=${1:-1} rounds=${2:-5}
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ -z "${OPENBLAS:-}" ]; then
	(cd "$tmp" && apt-get download libopenblas0-pthread libgfortran5 libquadmath0 >/dev/null 2>&1 &&
		for f in *.deb; do dpkg -x "$f" root; done)
	OPENBLAS=$(find "$tmp/root" -name libopenblas.so.0)
	LD_LIBRARY_PATH=$(dirname "$(find "$tmp/root" -name 'libgfortran.so.5' | head -n1)")
	export LD_LIBRARY_PATH
fi
gcc -O2 -o "$tmp/blas" bench/openblas/main.c -ldl
go test -c -o "$tmp/bench" ./bench
export OPENBLAS_NUM_THREADS="$threads"
echo "op n threads bbgp_cpu_s openblas_cpu_s openblas/bbgp fma_share"
for spec in gemm:2000 syrk:2000 cholesky:5000 inverse:5000; do
	op=${spec%:*} n=${spec#*:}
	for _ in $(seq "$rounds"); do
		BBGP_DENSE="$op" BBGP_DENSE_THREADS="$threads" "$tmp/bench" -test.run '^TestDenseReport$' -test.v | grep '^dense' >>"$tmp/$op.ours"
		"$tmp/blas" "$OPENBLAS" "$op" "$n" 1 >>"$tmp/$op.theirs"
	done
	paste -d' ' "$tmp/$op.ours" "$tmp/$op.theirs" | awk -v op="$op" -v n="$n" -v t="$threads" '
		{ o[NR] = $4; b[NR] = $6; q[NR] = $6 / $4; s[NR] = $5 }
		function median(x, i, j, v) {
			for (i = 2; i <= NR; i++) for (j = i; j > 1 && x[j] < x[j-1]; j--) { v = x[j]; x[j] = x[j-1]; x[j-1] = v }
			return x[int((NR + 1) / 2)]
		}
		END { printf "%s %d %d %.3f %.3f %.2f %.2f\n", op, n, t, median(o), median(b), median(q), median(s) }'
done
