! vcycle for Fortran: the calls of vcycle.h by iso_c_binding, and a type around a solver.
!
!     type(vcycle_type) :: solver
!     call solver%create('rtol=1e-10', code)
!     call solver%setup(offsets, columns, values, code)     ! numbered from 1
!     call solver%solve(b, x, report, code)
!     call solver%free()
!
! Compile this file with the program: modules of one compiler cannot be read by another.
module vcycle
   use, intrinsic :: iso_c_binding
   implicit none
   private

   integer(c_int32_t), parameter, public :: vcycle_ok = 0, vcycle_error_argument = 1, vcycle_error_handle = 2, &
      vcycle_error_option = 3, vcycle_error_matrix = 4, vcycle_error_memory = 5, vcycle_error_device = 6, &
      vcycle_error_state = 7, vcycle_error_unsupported = 8, vcycle_error_setup = 9, vcycle_error_internal = 10
   integer(c_int32_t), parameter, public :: vcycle_converged = 0, vcycle_iteration_limit = 1, vcycle_time_limit = 2, &
      vcycle_interrupted = 3, vcycle_accuracy_limit = 4, vcycle_stagnated = 5, vcycle_diverged = 6, &
      vcycle_non_finite = 7, vcycle_indefinite = 8, vcycle_breakdown = 9, vcycle_inconsistent = 10

   type, bind(c) :: csr_type
      integer(c_size_t) :: size = 0
      integer(c_int64_t) :: rows = 0
      type(c_ptr) :: offsets = c_null_ptr, columns = c_null_ptr, values = c_null_ptr
      integer(c_int32_t) :: offset_type = 0, column_type = 0, value_type = 0, base = 1, flags = 0
   end type

   !> When a solve ends; for negative values the options hold.
   type, bind(c), public :: vcycle_limits
      integer(c_size_t) :: size = 0
      real(c_double) :: rtol = -1, reduction = -1, atol = -1
      integer(c_int64_t) :: max_iterations = -1
      integer(c_int32_t) :: nonzero_guess = 0
   end type

   !> How a solve ended.
   type, bind(c), public :: vcycle_report
      integer(c_size_t) :: size = 0
      integer(c_int32_t) :: status = 0, levels = 0
      integer(c_int64_t) :: iterations = 0
      real(c_double) :: relative_residual = 0, backward_error = 0, setup_seconds = 0, solve_seconds = 0
      real(c_double) :: operator_complexity = 0, grid_complexity = 0
      integer(c_int64_t) :: bytes = 0
      real(c_double) :: outside_range = 0
   end type

   !> A solver. Call free when it is no longer needed.
   type, public :: vcycle_type
      type(c_ptr) :: handle = c_null_ptr
   contains
      procedure :: create, free, solve, apply, update_values, set_block_size, set_coordinates, set_near_nullspace
      procedure, private :: setup_short, setup_long
      generic :: setup => setup_short, setup_long
   end type

   public :: vcycle_last_error, vcycle_status_name

   interface
      integer(c_int32_t) function c_create(options, solver) bind(c, name='vcycle_create')
         import
         character(kind=c_char), intent(in) :: options(*)
         type(c_ptr), intent(out) :: solver
      end function
      integer(c_int32_t) function c_free(solver) bind(c, name='vcycle_free')
         import
         type(c_ptr), value :: solver
      end function
      integer(c_int32_t) function c_setup(solver, matrix) bind(c, name='vcycle_setup')
         import
         type(c_ptr), value :: solver
         type(csr_type), intent(in) :: matrix
      end function
      integer(c_int32_t) function c_update(solver, values) bind(c, name='vcycle_update_values')
         import
         type(c_ptr), value :: solver, values
      end function
      integer(c_int32_t) function c_solve(solver, columns, b, leading_b, x, leading_x, limits, report) &
         bind(c, name='vcycle_solve')
         import
         type(c_ptr), value :: solver, b, x
         integer(c_int32_t), value :: columns
         integer(c_int64_t), value :: leading_b, leading_x
         type(vcycle_limits), intent(in) :: limits
         type(vcycle_report), intent(inout) :: report
      end function
      integer(c_int32_t) function c_apply(solver, columns, r, leading_r, z, leading_z) bind(c, name='vcycle_apply')
         import
         type(c_ptr), value :: solver, r, z
         integer(c_int32_t), value :: columns
         integer(c_int64_t), value :: leading_r, leading_z
      end function
      integer(c_int32_t) function c_block_size(solver, block_size) bind(c, name='vcycle_set_block_size')
         import
         type(c_ptr), value :: solver
         integer(c_int32_t), value :: block_size
      end function
      integer(c_int32_t) function c_coordinates(solver, dimension, nodes, coordinates) &
         bind(c, name='vcycle_set_coordinates')
         import
         type(c_ptr), value :: solver, coordinates
         integer(c_int32_t), value :: dimension
         integer(c_int64_t), value :: nodes
      end function
      integer(c_int32_t) function c_near_nullspace(solver, count, rows, vectors) &
         bind(c, name='vcycle_set_near_nullspace')
         import
         type(c_ptr), value :: solver, vectors
         integer(c_int32_t), value :: count
         integer(c_int64_t), value :: rows
      end function
      type(c_ptr) function c_last_error() bind(c, name='vcycle_last_error')
         import
      end function
      type(c_ptr) function c_status_name(status) bind(c, name='vcycle_status_name')
         import
         integer(c_int32_t), value :: status
      end function
      integer(c_size_t) function c_strlen(text) bind(c, name='strlen')
         import
         type(c_ptr), value :: text
      end function
   end interface

contains

   !> Makes a solver; options as one line of pairs, TOML or JSON.
   subroutine create(self, options, code)
      class(vcycle_type), intent(inout) :: self
      character(*), intent(in) :: options
      integer(c_int32_t), intent(out) :: code
      code = c_create(trim(options)//c_null_char, self%handle)
   end subroutine

   subroutine free(self)
      class(vcycle_type), intent(inout) :: self
      integer(c_int32_t) :: code
      code = c_free(self%handle)
      self%handle = c_null_ptr
   end subroutine

   !> Sets up for a matrix in compressed rows, numbered from 1, with 32-bit indices.
   subroutine setup_short(self, offsets, columns, values, code)
      class(vcycle_type), intent(inout) :: self
      integer(c_int32_t), intent(in), target, contiguous :: offsets(:), columns(:)
      real(c_double), intent(in), target, contiguous :: values(:)
      integer(c_int32_t), intent(out) :: code
      code = setup_with(self, size(offsets, kind=c_int64_t) - 1, c_loc(offsets), c_loc(columns), c_loc(values), 0_c_int32_t)
   end subroutine

   !> The same with 64-bit indices.
   subroutine setup_long(self, offsets, columns, values, code)
      class(vcycle_type), intent(inout) :: self
      integer(c_int64_t), intent(in), target, contiguous :: offsets(:), columns(:)
      real(c_double), intent(in), target, contiguous :: values(:)
      integer(c_int32_t), intent(out) :: code
      code = setup_with(self, size(offsets, kind=c_int64_t) - 1, c_loc(offsets), c_loc(columns), c_loc(values), 1_c_int32_t)
   end subroutine

   integer(c_int32_t) function setup_with(self, rows, offsets, columns, values, width) result(code)
      class(vcycle_type), intent(inout) :: self
      integer(c_int64_t), intent(in) :: rows
      type(c_ptr), intent(in) :: offsets, columns, values
      integer(c_int32_t), intent(in) :: width
      type(csr_type) :: a
      a%size = c_sizeof(a)
      a%rows = rows
      a%offsets = offsets
      a%columns = columns
      a%values = values
      a%offset_type = width
      a%column_type = width
      code = c_setup(self%handle, a)
   end function

   !> New values in the same pattern.
   subroutine update_values(self, values, code)
      class(vcycle_type), intent(inout) :: self
      real(c_double), intent(in), target, contiguous :: values(:)
      integer(c_int32_t), intent(out) :: code
      code = c_update(self%handle, c_loc(values))
   end subroutine

   !> Solves for one right-hand side.
   subroutine solve(self, b, x, report, code, limits)
      class(vcycle_type), intent(in) :: self
      real(c_double), intent(in), target, contiguous :: b(:)
      real(c_double), intent(inout), target, contiguous :: x(:)
      type(vcycle_report), intent(out) :: report
      integer(c_int32_t), intent(out) :: code
      type(vcycle_limits), intent(in), optional :: limits
      type(vcycle_limits) :: given
      if (present(limits)) given = limits
      given%size = c_sizeof(given)
      report%size = c_sizeof(report)
      code = c_solve(self%handle, 1_c_int32_t, c_loc(b), size(b, kind=c_int64_t), c_loc(x), size(x, kind=c_int64_t), &
                     given, report)
   end subroutine

   !> z = M r, one cycle.
   subroutine apply(self, r, z, code)
      class(vcycle_type), intent(in) :: self
      real(c_double), intent(in), target, contiguous :: r(:)
      real(c_double), intent(inout), target, contiguous :: z(:)
      integer(c_int32_t), intent(out) :: code
      code = c_apply(self%handle, 1_c_int32_t, c_loc(r), size(r, kind=c_int64_t), c_loc(z), size(z, kind=c_int64_t))
   end subroutine

   subroutine set_block_size(self, block_size, code)
      class(vcycle_type), intent(inout) :: self
      integer, intent(in) :: block_size
      integer(c_int32_t), intent(out) :: code
      code = c_block_size(self%handle, int(block_size, c_int32_t))
   end subroutine

   !> Coordinates of nodes: (dimension, nodes).
   subroutine set_coordinates(self, coordinates, code)
      class(vcycle_type), intent(inout) :: self
      real(c_double), intent(in), target, contiguous :: coordinates(:, :)
      integer(c_int32_t), intent(out) :: code
      code = c_coordinates(self%handle, int(size(coordinates, 1), c_int32_t), size(coordinates, 2, kind=c_int64_t), &
                           c_loc(coordinates))
   end subroutine

   !> Vectors that the matrix nearly annihilates: (rows, count).
   subroutine set_near_nullspace(self, vectors, code)
      class(vcycle_type), intent(inout) :: self
      real(c_double), intent(in), target, contiguous :: vectors(:, :)
      integer(c_int32_t), intent(out) :: code
      code = c_near_nullspace(self%handle, int(size(vectors, 2), c_int32_t), size(vectors, 1, kind=c_int64_t), &
                              c_loc(vectors))
   end subroutine

   !> The reason why the last failed call of this thread failed.
   function vcycle_last_error() result(text)
      character(:), allocatable :: text
      text = as_text(c_last_error())
   end function

   function vcycle_status_name(status) result(text)
      integer(c_int32_t), intent(in) :: status
      character(:), allocatable :: text
      text = as_text(c_status_name(status))
   end function

   function as_text(pointer) result(text)
      type(c_ptr), intent(in) :: pointer
      character(:), allocatable :: text
      character(kind=c_char), pointer :: letters(:)
      integer :: place
      call c_f_pointer(pointer, letters, [c_strlen(pointer)])
      allocate (character(size(letters)) :: text)
      do place = 1, size(letters)
         text(place:place) = letters(place)
      end do
   end function

end module vcycle
