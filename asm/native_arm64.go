//go:build !purego

package asm

// native returns the implementation of arm64: every such CPU has NEON.
func native() []*Impl { return []*Impl{&neon} }

var neon = Impl{
	Name: "neon",
	F32: Kit[float32]{
		TileRows: RowUnit, TileCols: 192,
		dist: neonDistF32,
		cov: [...]func(*float32, int){neonCovMatern12F32, neonCovMatern32F32, neonCovMatern52F32,
			neonCovGaussianF32},
		weight: [...]func(*float32, int){neonWeightMatern12F32, neonWeightMatern32F32, neonWeightMatern52F32,
			neonWeightGaussianF32},
		accJ: neonAccJF32, accI: neonAccIF32,
		fused1: [...]func(yi *float64, yj, buf, vi, vj *float32, rows, cols int){
			neonFused1Matern12F32, neonFused1Matern32F32, neonFused1Matern52F32, neonFused1GaussianF32,
		},
		fused2: [...]func(yi *float64, yj, buf, vi, vj *float32, rows, cols int){
			neonFused2Matern12F32, neonFused2Matern32F32, neonFused2Matern52F32, neonFused2GaussianF32,
		},
		outer: neonOuterF32, rowSum: neonRowSumF32,
		gemm: neonGemmF32, gemmPanels: neonGemmPanelsF32, transpose: neonTransposeF32, dot: neonDotF32,
		axpy: neonAxpyF32,
		peak: neonPeakF32, peakFlops: 24 * 2 * 4,
	},
	F64: Kit[float64]{
		TileRows: RowUnit, TileCols: 96,
		dist: neonDistF64,
		cov: [...]func(*float64, int){neonCovMatern12F64, neonCovMatern32F64, neonCovMatern52F64,
			neonCovGaussianF64},
		weight: [...]func(*float64, int){neonWeightMatern12F64, neonWeightMatern32F64, neonWeightMatern52F64,
			neonWeightGaussianF64},
		accJ: neonAccJF64, accI: neonAccIF64,
		fused1: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			neonFused1Matern12F64, neonFused1Matern32F64, neonFused1Matern52F64, neonFused1GaussianF64,
		},
		fused2: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			neonFused2Matern12F64, neonFused2Matern32F64, neonFused2Matern52F64, neonFused2GaussianF64,
		},
		outer: neonOuterF64, rowSum: neonRowSumF64,
		gemm: neonGemmF64, gemmPanels: neonGemmPanelsF64, transpose: neonTransposeF64, dot: neonDotF64,
		axpy: neonAxpyF64,
		peak: neonPeakF64, peakFlops: 24 * 2 * 2,
	},
	widen:    neonWiden,
	widenAdd: neonWidenAdd,
	cut:      neonCut,
	cutTwo:   neonCutTwo,
	within:   neonWithin,

	triSolve: neonTriSolve,

	cholRows: neonCholRows,
	cholLast: neonCholLast,

	gatherLanes:  neonGatherLanes,
	laneDist:     neonLaneDist,
	laneDistLast: neonLaneDistLast,
	laneSyrk:     neonLaneSyrk,
	laneSyrkLast: neonLaneSyrkLast,
	laneScore:    neonLaneScore,

	gatherRows:  neonGatherRows,
	scatterRows: neonScatterRows,
}
