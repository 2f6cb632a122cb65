//! The key beside a picture.

/// What each sign of the picture stands for: the sign and the words.
pub type Key = Vec<(String, String)>;
