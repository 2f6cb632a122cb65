//! Methods that an operator leaves to another one.

/// Methods of a [`LinOp`](crate::linop::LinOp) that are those of a field: `forward!(inner: size, executor);`.
#[doc(hidden)]
#[macro_export]
macro_rules! forward {
    ($field:tt: $($method:ident),+) => {
        $($crate::forward!(@$method $field);)+
    };
    (@size $field:tt) => {
        fn size(&self) -> $crate::size::Size {
            self.$field.size()
        }
    };
    (@executor $field:tt) => {
        fn executor(&self) -> &$crate::executor::Executor {
            self.$field.executor()
        }
    };
    (@label $field:tt) => {
        fn label(&self) -> &'static str {
            self.$field.label()
        }
    };
    (@footprint $field:tt) => {
        fn footprint(&self) -> $crate::linop::Footprint {
            self.$field.footprint()
        }
    };
    (@is_identity $field:tt) => {
        fn is_identity(&self) -> bool {
            self.$field.is_identity()
        }
    };
}
