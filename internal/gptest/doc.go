// Package gptest has tables, parameters and comparisons for tests of the packages of gp.
package gptest
