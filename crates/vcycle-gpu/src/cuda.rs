//! NVIDIA and AMD.
