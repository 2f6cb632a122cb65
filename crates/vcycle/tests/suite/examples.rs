//! The examples run, at small size.

#[path = "../../examples/heat.rs"]
mod heat;
#[path = "../../examples/matrix_free.rs"]
mod matrix_free;
#[path = "../../examples/smoother.rs"]
mod smoother;
#[path = "../../examples/stages.rs"]
mod stages;

#[test]
fn every_example_succeeds() {
    heat::main().unwrap();
    matrix_free::main().unwrap();
    smoother::main().unwrap();
    stages::main().unwrap();
}
