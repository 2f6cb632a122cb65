//! Values that are one word in options and files.

/// Serialises a type as the text it prints and parses; what is wrong with a text is told as its error prints it, or as a function makes it of that.
#[macro_export]
macro_rules! as_text {
    ($type:ty) => {
        $crate::as_text!($type, |error| error);
    };
    ($type:ty, $told:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(
                &self,
                to: S,
            ) -> std::result::Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(
                from: D,
            ) -> std::result::Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(from)?;
                text.parse()
                    .map_err($told)
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}
