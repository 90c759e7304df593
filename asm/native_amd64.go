//go:build !purego

package asm

import "github.com/klauspost/cpuid/v2"

// native returns the implementations that this CPU can run, the best first.
// cpuid counts AVX and AVX-512 as supported only where XCR0 says that the
// system saves their registers.
func native() []*Impl {
	var all []*Impl
	if cpuid.CPU.Supports(avx512Needs...) {
		all = append(all, &avx512)
	}
	if cpuid.CPU.Supports(avx2Needs...) {
		all = append(all, &avx2)
	}
	return all
}

var avx2 = Impl{
	Name: "avx2",
	F32: Kit[float32]{
		TileRows: RowUnit, TileCols: 192,
		dist: avx2DistF32,
		cov: [...]func(*float32, int){avx2CovMatern12F32, avx2CovMatern32F32, avx2CovMatern52F32,
			avx2CovGaussianF32},
		weight: [...]func(*float32, int){avx2WeightMatern12F32, avx2WeightMatern32F32, avx2WeightMatern52F32,
			avx2WeightGaussianF32},
		accJ: avx2AccJF32, accI: avx2AccIF32,
		fused1: [...]func(yi *float64, yj, buf, vi, vj *float32, rows, cols int){
			avx2Fused1Matern12F32, avx2Fused1Matern32F32, avx2Fused1Matern52F32, avx2Fused1GaussianF32,
		},
		fused2: [...]func(yi *float64, yj, buf, vi, vj *float32, rows, cols int){
			avx2Fused2Matern12F32, avx2Fused2Matern32F32, avx2Fused2Matern52F32, avx2Fused2GaussianF32,
		},
		outer: avx2OuterF32, rowSum: avx2RowSumF32,
		gemm: avx2GemmF32, gemmPanels: avx2GemmPanelsF32, transpose: avx2TransposeF32, dot: avx2DotF32,
		axpy: avx2AxpyF32,
		peak: avx2PeakF32, peakFlops: 2 * peakFMAs * 8,
	},
	F64: Kit[float64]{
		TileRows: RowUnit, TileCols: 96,
		dist: avx2DistF64,
		cov: [...]func(*float64, int){avx2CovMatern12F64, avx2CovMatern32F64, avx2CovMatern52F64,
			avx2CovGaussianF64},
		weight: [...]func(*float64, int){avx2WeightMatern12F64, avx2WeightMatern32F64, avx2WeightMatern52F64,
			avx2WeightGaussianF64},
		accJ: avx2AccJF64, accI: avx2AccIF64,
		fused1: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx2Fused1Matern12F64, avx2Fused1Matern32F64, avx2Fused1Matern52F64, avx2Fused1GaussianF64,
		},
		fused2: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx2Fused2Matern12F64, avx2Fused2Matern32F64, avx2Fused2Matern52F64, avx2Fused2GaussianF64,
		},
		outer: avx2OuterF64, rowSum: avx2RowSumF64,
		gemm: avx2GemmF64, gemmPanels: avx2GemmPanelsF64, transpose: avx2TransposeF64, dot: avx2DotF64,
		axpy:  avx2AxpyF64,
		roots: avx2Roots64,
		peak:  avx2PeakF64, peakFlops: 2 * peakFMAs * 4,
	},
	widen:    avx2Widen,
	widenAdd: avx2WidenAdd,
	cut:      avx2Cut,
	cutTwo:   avx2CutTwo,
	within:   avx2Within,

	triSolve: avx2TriSolve,

	cholRows: avx2CholRows,
	cholLast: avx2CholLast,

	gatherLanes:  avx2GatherLanes,
	laneDist:     avx2LaneDist,
	laneDistLast: avx2LaneDistLast,
	laneSyrk:     avx2LaneSyrk,
	laneSyrkLast: avx2LaneSyrkLast,
	laneScore:    avx2LaneScore,

	gatherRows:  avx2GatherRows,
	scatterRows: avx2ScatterRows,
}

var avx512 = Impl{
	Name: "avx512",
	F32: Kit[float32]{
		TileRows: RowUnit, TileCols: 192,
		dist: avx512DistF32,
		cov: [...]func(*float32, int){avx512CovMatern12F32, avx512CovMatern32F32, avx512CovMatern52F32,
			avx512CovGaussianF32},
		weight: [...]func(*float32, int){avx512WeightMatern12F32, avx512WeightMatern32F32, avx512WeightMatern52F32,
			avx512WeightGaussianF32},
		accJ: avx512AccJF32, accI: avx512AccIF32,
		fused1: [...]func(yi *float64, yj, buf, vi, vj *float32, rows, cols int){
			avx512Fused1Matern12F32, avx512Fused1Matern32F32, avx512Fused1Matern52F32, avx512Fused1GaussianF32,
		},
		fused2: [...]func(yi *float64, yj, buf, vi, vj *float32, rows, cols int){
			avx512Fused2Matern12F32, avx512Fused2Matern32F32, avx512Fused2Matern52F32, avx512Fused2GaussianF32,
		},
		outer: avx512OuterF32, rowSum: avx512RowSumF32,
		gemm: avx512GemmF32, gemmPanels: avx512GemmPanelsF32, transpose: avx512TransposeF32, dot: avx512DotF32,
		axpy:  avx512AxpyF32,
		roots: avx512Roots32,
		peak:  avx512PeakF32, peakFlops: 2 * peakFMAs * 16,
	},
	F64: Kit[float64]{
		TileRows: RowUnit, TileCols: 96,
		dist: avx512DistF64,
		cov: [...]func(*float64, int){avx512CovMatern12F64, avx512CovMatern32F64, avx512CovMatern52F64,
			avx512CovGaussianF64},
		weight: [...]func(*float64, int){avx512WeightMatern12F64, avx512WeightMatern32F64, avx512WeightMatern52F64,
			avx512WeightGaussianF64},
		accJ: avx512AccJF64, accI: avx512AccIF64,
		fused1: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx512Fused1Matern12F64, avx512Fused1Matern32F64, avx512Fused1Matern52F64, avx512Fused1GaussianF64,
		},
		fused2: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx512Fused2Matern12F64, avx512Fused2Matern32F64, avx512Fused2Matern52F64, avx512Fused2GaussianF64,
		},
		outer: avx512OuterF64, rowSum: avx512RowSumF64,
		gemm: avx512GemmF64, gemmPanels: avx512GemmPanelsF64, transpose: avx512TransposeF64, dot: avx512DotF64,
		axpy:  avx512AxpyF64,
		roots: avx512Roots64,
		peak:  avx512PeakF64, peakFlops: 2 * peakFMAs * 8,
	},
	widen:    avx512Widen,
	widenAdd: avx512WidenAdd,
	cut:      avx512Cut,
	cutTwo:   avx512CutTwo,
	within:   avx512Within,

	triSolve: avx512TriSolve,

	cholRows: avx512CholRows,
	cholLast: avx512CholLast,

	gatherLanes:  avx512GatherLanes,
	laneDist:     avx512LaneDist,
	laneDistLast: avx512LaneDistLast,
	laneSyrk:     avx512LaneSyrk,
	laneSyrkLast: avx512LaneSyrkLast,
	laneScore:    avx512LaneScore,

	gatherRows:  avx512GatherRows,
	scatterRows: avx512ScatterRows,
}

// The depths from which roots pay before the covariance function: see
// gen/root.go.
var avx2Roots64 = []rootKit[float64]{
	{
		minDepth: 4,
		distRoot: avx2DistRoot1F64,
		cov: [...]func(buf *float64, rows, cols int){avx2CovRadii1Matern12F64, avx2CovRadii1Matern32F64,
			avx2CovRadii1Matern52F64},
		weight: [...]func(buf *float64, rows, cols int){avx2WeightRadii1Matern12F64, avx2WeightRadii1Matern32F64,
			avx2WeightRadii1Matern52F64},
		fused1: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx2Fused1Radii1Matern12F64, avx2Fused1Radii1Matern32F64, avx2Fused1Radii1Matern52F64,
		},
		fused2: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx2Fused2Radii1Matern12F64, avx2Fused2Radii1Matern32F64, avx2Fused2Radii1Matern52F64,
		},
	},
}

var avx512Roots32 = []rootKit[float32]{
	{
		minDepth: 6,
		distRoot: avx512DistRoot2F32,
		cov: [...]func(buf *float32, rows, cols int){avx512CovRadii2Matern12F32, avx512CovRadii2Matern32F32,
			avx512CovRadii2Matern52F32},
		weight: [...]func(buf *float32, rows, cols int){avx512WeightRadii2Matern12F32, avx512WeightRadii2Matern32F32,
			avx512WeightRadii2Matern52F32},
		fused1: [...]func(yi *float64, yj, buf, vi, vj *float32, rows, cols int){
			avx512Fused1Radii2Matern12F32, avx512Fused1Radii2Matern32F32, avx512Fused1Radii2Matern52F32,
		},
		fused2: [...]func(yi *float64, yj, buf, vi, vj *float32, rows, cols int){
			avx512Fused2Radii2Matern12F32, avx512Fused2Radii2Matern32F32, avx512Fused2Radii2Matern52F32,
		},
	},
}

var avx512Roots64 = []rootKit[float64]{
	{
		minDepth: 1,
		distRoot: avx512DistRoot1F64,
		cov: [...]func(buf *float64, rows, cols int){avx512CovRadii1Matern12F64, avx512CovRadii1Matern32F64,
			avx512CovRadii1Matern52F64},
		weight: [...]func(buf *float64, rows, cols int){avx512WeightRadii1Matern12F64, avx512WeightRadii1Matern32F64,
			avx512WeightRadii1Matern52F64},
		fused1: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx512Fused1Radii1Matern12F64, avx512Fused1Radii1Matern32F64, avx512Fused1Radii1Matern52F64,
		},
		fused2: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx512Fused2Radii1Matern12F64, avx512Fused2Radii1Matern32F64, avx512Fused2Radii1Matern52F64,
		},
	},
	{
		minDepth: 10,
		distRoot: avx512DistRoot2F64,
		cov: [...]func(buf *float64, rows, cols int){avx512CovRadii2Matern12F64, avx512CovRadii2Matern32F64,
			avx512CovRadii2Matern52F64},
		weight: [...]func(buf *float64, rows, cols int){avx512WeightRadii2Matern12F64, avx512WeightRadii2Matern32F64,
			avx512WeightRadii2Matern52F64},
		fused1: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx512Fused1Radii2Matern12F64, avx512Fused1Radii2Matern32F64, avx512Fused1Radii2Matern52F64,
		},
		fused2: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx512Fused2Radii2Matern12F64, avx512Fused2Radii2Matern32F64, avx512Fused2Radii2Matern52F64,
		},
	},
	{
		minDepth: 14,
		distRoot: avx512DistRoot3F64,
		cov: [...]func(buf *float64, rows, cols int){avx512CovRadii3Matern12F64, avx512CovRadii3Matern32F64,
			avx512CovRadii3Matern52F64},
		weight: [...]func(buf *float64, rows, cols int){avx512WeightRadii3Matern12F64, avx512WeightRadii3Matern32F64,
			avx512WeightRadii3Matern52F64},
		fused1: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx512Fused1Radii3Matern12F64, avx512Fused1Radii3Matern32F64, avx512Fused1Radii3Matern52F64,
		},
		fused2: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx512Fused2Radii3Matern12F64, avx512Fused2Radii3Matern32F64, avx512Fused2Radii3Matern52F64,
		},
	},
	{
		minDepth: 22,
		distRoot: avx512DistRoot4F64,
		cov: [...]func(buf *float64, rows, cols int){avx512CovRadii4Matern12F64, avx512CovRadii4Matern32F64,
			avx512CovRadii4Matern52F64},
		weight: [...]func(buf *float64, rows, cols int){avx512WeightRadii4Matern12F64, avx512WeightRadii4Matern32F64,
			avx512WeightRadii4Matern52F64},
		fused1: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx512Fused1Radii4Matern12F64, avx512Fused1Radii4Matern32F64, avx512Fused1Radii4Matern52F64,
		},
		fused2: [...]func(yi *float64, yj, buf, vi, vj *float64, rows, cols int){
			avx512Fused2Radii4Matern12F64, avx512Fused2Radii4Matern32F64, avx512Fused2Radii4Matern52F64,
		},
	},
}
