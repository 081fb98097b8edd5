//! What is written, against golden files.
