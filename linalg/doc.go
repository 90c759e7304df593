// Package linalg is linear algebra on operators that are known by their
// products, and the dense factorisations that they need.
package linalg
