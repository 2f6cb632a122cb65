//! OpenCL 3.
