! Solves the Poisson equation on a square from Fortran.
!
!     gfortran $(pkg-config --variable=fortran vcycle) poisson.f90 $(pkg-config --libs vcycle) -o poisson && ./poisson
program poisson
   use, intrinsic :: iso_c_binding
   use vcycle
   implicit none
   integer, parameter :: side = 100, rows = side*side
   integer(c_int32_t) :: offsets(rows + 1), columns(5*rows), code
   real(c_double) :: values(5*rows), b(rows), x(rows), z(rows), middle
   type(vcycle_type) :: solver
   type(vcycle_report) :: report
   integer :: row, i, j, entries

   entries = 0
   do row = 1, rows
      i = mod(row - 1, side) + 1
      j = (row - 1)/side + 1
      offsets(row) = entries + 1
      if (j > 1) call add(row - side, -1.0_c_double)
      if (i > 1) call add(row - 1, -1.0_c_double)
      call add(row, 4.0_c_double)
      if (i < side) call add(row + 1, -1.0_c_double)
      if (j < side) call add(row + side, -1.0_c_double)
   end do
   offsets(rows + 1) = entries + 1
   b = 1

   call solver%create('rtol=1e-10', code)
   call check()
   call solver%setup(offsets, columns(1:entries), values(1:entries), code)
   call check()
   call solver%solve(b, x, report, code)
   call check()
   print '(a,a,i0,a,es8.1)', vcycle_status_name(report%status), ' after ', report%iterations, ' iterations, residual ', &
      report%relative_residual
   if (report%status /= vcycle_converged) error stop 'not converged'
   middle = x(rows/2)

   values = 2*values
   call solver%update_values(values(1:entries), code)
   call check()
   call solver%solve(b, x, report, code)
   call check()
   if (abs(2*x(rows/2) - middle) > 1e-6*middle) error stop 'another solution'
   call solver%apply(b, z, code)
   call check()
   if (any(z <= 0)) error stop 'a cycle of a positive matrix'
   call solver%setup(offsets(1:rows), columns(1:entries), values(1:entries), code)
   if (code /= vcycle_error_matrix) error stop 'a column outside of the matrix'
   call solver%free()

contains

   subroutine add(column, value)
      integer, intent(in) :: column
      real(c_double), intent(in) :: value
      entries = entries + 1
      columns(entries) = column
      values(entries) = value
   end subroutine

   subroutine check()
      if (code /= vcycle_ok) then
         print '(2a)', 'vcycle: ', vcycle_last_error()
         error stop 1
      end if
   end subroutine

end program poisson
