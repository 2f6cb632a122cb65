//! Which couplings matter: for every row, the columns it strongly depends on.
