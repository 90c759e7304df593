// Package dissect factors sparse symmetric matrices over points in few dimensions, whose entries join near points, by
// nested dissection (George 1973) and fronts of dense matrices (Duff and Reid 1983).
//
// # Symbols
//
//	m            Tree            points, eliminated in an order of theirs
//	J, A         node            the points that a node eliminates, and those behind joined to them: its front
//	Q = L_Q L_Q' Pair            sparse, Q⁻¹ ≈ a covariance matrix of the points
//	S = L_S L_S' Pair            Q + Σ_c M_c, M_c small and dense over a clique c of near points
//
// # The way of the data
//
// [Cut] puts points that are near together (cut.go), [NewNear] finds the nearest ones (near.go). [NewTree] cuts the
// points in two by those in between that cliques join, again and again (tree.go, fronts.go). [NewPair] makes both
// factors, node by node (pair.go, node.go); [Pair.Forward] and [Pair.Backward] solve with L_S and L_S + L_Q (solve.go).
package dissect
