//! Resource dimensions and dense vectors.
