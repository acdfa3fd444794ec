! gfortran -O3 -shared -fPIC mine.f90 -o libmine.so
module mine
  use iso_c_binding
  type, bind(C) :: variant
    type(c_ptr) :: id, title = c_null_ptr
    integer(c_int32_t) :: what(6) = [2, 1, 32, 0, 0, 0]  ! CPU, sum, f32
    type(c_ptr) :: settings = c_null_ptr
    integer(c_int32_t) :: count = 0
    type(c_funptr) :: before(3) = c_null_funptr, enqueue, after(2) = c_null_funptr
    type(c_ptr) :: data = c_null_ptr
  end type
  type, bind(C) :: table
    integer(c_int32_t) :: version = 1, count = 1
    type(c_ptr) :: variants
  end type
  type, bind(C) :: problem
    type(c_ptr) :: variant
    integer(c_int32_t) :: operation, element
    integer(c_int64_t) :: n
  end type
  character(kind=c_char, len=13), target, save :: id = "mine/fortran" // c_null_char
  type(variant), target, save :: one
  type(table), target, save :: all
  type(c_ptr), target, save :: list(1)
contains
  type(c_ptr) function add(p, plan, x, res, stream) bind(C)
    type(problem), intent(in) :: p
    type(c_ptr), value :: plan, stream
    real(c_float), intent(in) :: x(*)
    real(c_float), intent(out) :: res
    res = real(sum(real(x(1:p%n), c_double)), c_float)
    add = c_null_ptr
  end function
  type(c_ptr) function reductio_plugin(error) bind(C)
    type(c_ptr) :: error
    one%id = c_loc(id)
    one%enqueue = c_funloc(add)
    list(1) = c_loc(one)
    all%variants = c_loc(list)
    reductio_plugin = c_loc(all)
  end function
end module
