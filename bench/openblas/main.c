// Times OpenBLAS: dgemm, dsyrk, dpotrf, dpotri at the sizes of `bbgp bench dense`.
// usage: main LIBRARY OP N [RUNS]; prints the CPU seconds of each run.
// The library is opened at run time, so that nothing needs its headers.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef void gemm_t(const char *, const char *, const int *, const int *, const int *, const double *,
                    const double *, const int *, const double *, const int *, const double *, double *, const int *);
typedef void syrk_t(const char *, const char *, const int *, const int *, const double *, const double *,
                    const int *, const double *, double *, const int *);
typedef void potr_t(const char *, const int *, double *, const int *, int *);

static double cpu(void) {
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void *need(void *lib, const char *name) {
	void *f = dlsym(lib, name);
	if (!f) { fprintf(stderr, "%s is missing\n", name); exit(1); }
	return f;
}

int main(int argc, char **argv) {
	if (argc < 4) { fprintf(stderr, "usage: %s LIBRARY gemm|syrk|cholesky|inverse N [RUNS]\n", argv[0]); return 2; }
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
	const char *op = argv[2];
	int n = atoi(argv[3]), runs = argc > 4 ? atoi(argv[4]) : 3, info = 0;
	size_t size = (size_t)n * n;
	double *a = malloc(8 * size), *b = malloc(8 * size), *c = malloc(8 * size), one = 1, zero = 0;
	unsigned long long s = 1;
	for (size_t i = 0; i < size; i++) {
		s = s * 6364136223846793005ULL + 1442695040888963407ULL;
		a[i] = (double)(s >> 40) / (1 << 24) - 0.5;
		b[i] = a[i] * 0.5;
		c[i] = 0; // also brings the memory in
	}
	for (int r = 0; r <= runs; r++) { // the first run is not printed
		double t = 0;
		if (!strcmp(op, "cholesky") || !strcmp(op, "inverse")) {
			memcpy(c, a, 8 * size);
			for (int i = 0; i < n; i++) c[(size_t)i * n + i] = n;
			t = cpu();
			((potr_t *)need(lib, "dpotrf_"))("L", &n, c, &n, &info);
			if (!strcmp(op, "inverse") && info == 0) {
				t = cpu();
				((potr_t *)need(lib, "dpotri_"))("L", &n, c, &n, &info);
			}
		} else if (!strcmp(op, "syrk")) {
			t = cpu();
			((syrk_t *)need(lib, "dsyrk_"))("L", "T", &n, &n, &one, a, &n, &zero, c, &n);
		} else {
			t = cpu();
			((gemm_t *)need(lib, "dgemm_"))("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
		}
		t = cpu() - t;
		if (info) { fprintf(stderr, "%s: info %d\n", op, info); return 1; }
		if (r > 0) printf("%.4f\n", t);
	}
	return 0;
}
