# Reads the attributes of an object's functions, then all of its intermediate code, which clang++ -fsanitize=thread has
# written, and adds the hooks that it leaves out, silently:
#   - of accesses that are not of 1, 2, 4, 8 or 16 bytes: a field of 24 bits, three bytes of a struct that a function
#     takes by value, a vector of 32;
#   - of the memory that a call copies for its callee: a larger struct by value;
#   - of atomics of C++, which no kernel has: to the hook that says so.

# The pointer and the location in the source of an access whose text goes on with ", TYPE* POINTER, align N, !dbg !M".
function parse(line, type,    at) {
  at = index(line, pointers ? ", ptr " : ", " type "* ")
  if (!at) return 0
  pointer = substr(line, at + (pointers ? 6 : length(type) + 4))
  sub(/( (unordered|monotonic|acquire|release|seq_cst))?, align [0-9].*/, "", pointer)
  return 1
}

# Calls a hook with a pointer to `type`, and more arguments.
function hook(name, type, pointer, more,    address, dbg) {
  dbg = match($0, /, !dbg ![0-9]+/) ? substr($0, RSTART, RLENGTH) : ""
  address = pointer
  if (!pointers) {
    address = "%reductio.address." ++n
    print "  " address " = bitcast " type "* " pointer " to i8*" dbg
  }
  print "  call void @" name "(" (pointers ? "ptr " : "i8* ") address more ")" dbg
  used[name] = more
}

function bytes_of(type,    bits, part) {
  if (type ~ /^i[0-9]+$/) bits = substr(type, 2)
  else if (type == "x86_fp80") bits = 80
  else if (match(type, /^<[0-9]+ x (i[0-9]+|half|bfloat|float|double|ptr)>$/)) {
    split(substr(type, 2, length(type) - 2), part, " x ")
    bits = part[1] * (part[2] ~ /^i/ ? substr(part[2], 2) : part[2] ~ /^[hb]/ ? 16 : part[2] == "float" ? 32 : 64)
  } else return 0
  return int((bits + 7) / 8)
}

FNR == NR {
  if (/ sanitize_thread /) hooked[$2] = 1
  next
}

/^define / {
  in_hooked = 0
  for (i = 2; i <= NF; ++i)
    if ($i ~ /^#[0-9]+$/ && $i in hooked) in_hooked = 1
}

# From clang++ 15 on, pointers have no type.
!pointers && (/^define .*[(]ptr[ ,)]/ || /^  (%[^ ]+ = )?(load|store) .*, ptr / || /[(]ptr [^(]*byval[(]/) {
  pointers = 1
}

in_hooked && /^  (%[^ ]+ = )?(load|store) / {
  type = $0
  sub(/^  (%[^ ]+ = )?(load|store) (atomic )?(volatile )?/, "", type)
  kind = /^  store/ ? "write" : "read"
  if (type ~ /^</) sub(/>.*/, ">", type)
  else sub(/[ ,].*/, "", type)
  if (/ (load|store) atomic /) {
    if (parse($0, type)) hook("__tsan_cpp_atomic", type, pointer, "")
  } else {
    bytes = bytes_of(type)
    if (bytes && bytes !~ /^(1|2|4|8|16)$/ && parse($0, type))
      hook("__tsan_" kind "_range", type, pointer, ", i64 " bytes)
  }
}

in_hooked && /^  (%[^ ]+ = )?(atomicrmw|cmpxchg) / {
  type = "i8"
  rest = $0
  if (match(rest, /[^ ]+\* /) && !pointers) {
    type = substr(rest, RSTART, RLENGTH - 2)
    pointer = substr(rest, RSTART + RLENGTH)
  } else if (match(rest, / ptr /)) {
    pointer = substr(rest, RSTART + RLENGTH)
  }
  sub(/,.*/, "", pointer)
  hook("__tsan_cpp_atomic", type, pointer, "")
}

in_hooked && / byval\(/ && /^  (%[^ ]+ = )?(tail |musttail |notail )?(call|invoke) / {
  rest = $0
  while (match(rest, / byval\(/)) {
    before = substr(rest, 1, RSTART - 1)
    rest = substr(rest, RSTART + RLENGTH)
    # A struct's name may hold brackets, in quotes.
    type = match(rest, /^%"[^"]*"/) || match(rest, /^[^)]*/) ? substr(rest, 1, RLENGTH) : ""
    rest = substr(rest, length(type) + 2)
    pointer = rest
    sub(/^ (align [0-9]+ )?/, "", pointer)
    if (pointer ~ /^%"/) match(pointer, /^%"[^"]*"/)
    else match(pointer, /^[^,)]*/)
    pointer = substr(pointer, 1, RLENGTH)
    any = pointers ? "ptr" : type "*"
    hook("__tsan_read_range", type, pointer,
         ", i64 ptrtoint (" any " getelementptr (" type ", " any " null, i32 1) to i64)")
  }
}

{ print }

END {
  for (name in used) print "declare void @" name "(" (pointers ? "ptr" : "i8*") (used[name] ? ", i64" : "") ")"
}
