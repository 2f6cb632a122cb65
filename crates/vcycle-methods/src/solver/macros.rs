//! What files of methods have in common: their registration, and their example.

/// A [`component!`](crate::registration::component) with a function `iterate` that is a solver; stands in its own file.
macro_rules! solver {
    (
        $(#[$($of_struct:tt)*])*
        pub struct $parameters:ident { $($fields:tt)* }
        $($registration:tt)*
    ) => {
        crate::registration::component! {
            $(#[$($of_struct)*])*
            pub struct $parameters { $($fields)* }
            support: Support::METHOD, $($registration)*
        }

        impl<T: Scalar> crate::solver::method::Method<T> for $parameters {
            fn name(&self) -> &'static str {
                <Self as crate::registration::Component>::REGISTRATION.name
            }
            fn iterate(&self, run: &mut Run<'_, T>) -> Result<()> {
                $parameters::iterate(self, run)
            }
        }

        impl crate::solver::method::SolverComponent for $parameters {
            fn method<T: Scalar>(&self) -> std::sync::Arc<dyn crate::solver::method::Method<T>> {
                vcycle_kernels::compiled!(
                    working T: fn(&$parameters) -> std::sync::Arc<dyn crate::solver::method::Method<T>> = |own| {
                        std::sync::Arc::new(own.to_owned())
                    }
                )(self)
            }
        }
    };
}
pub(super) use solver;

/// The example of a method, which differs from others by the name alone.
macro_rules! example {
    ($method:literal) => {
        concat!(
            "```\nuse std::sync::Arc;\nuse vcycle::{executor::Executor, gallery, solver::{",
            $method,
            ", Solver}, vector::Vector};\n\
             let problem = gallery::build(\"poisson5:6\", &Executor::cpu())?;\n\
             let b = Vector::from_column(&Executor::cpu(), problem.rhs);\n\
             let mut x = Vector::zeros_like(&b)?;\n\
             let solver = Solver::<f64>::new(",
            $method,
            "::default(), Arc::new(problem.matrix))?;\n\
             assert!(solver.solve(&b, &mut x)?.converged());\n\
             # Ok::<(), vcycle::Error>(())\n```"
        )
    };
}
pub(super) use example;
