# Reads the attributes of an object's functions, then all of its intermediate code, which clang++ -fsanitize=thread has
# written, and adds the hooks that it leaves out, silently:
#   - of accesses that are not of 1, 2, 4, 8 or 16 bytes: a field of 24 bits, three bytes of a struct that a function
#     takes by value, a vector of 32;
#   - of the memory that a call copies for its callee: a larger struct by value;
#   - of atomics of C++, which no kernel has: to the hook that says so.
# Then it counts the accesses before which there still is no hook, in the line above, and writes these counts into the file `counts`:
#   own        a local variable whose address nobody else gets
#   place      threadIdx and its kin
#   constant   of the program: tables of virtual functions, literals
#   host       the start of a kernel, which reads the host's copies of its arguments
#   without    all else; there is none (tests/device/test_hooks.py)

# The pointer of an access whose text goes on with ", TYPE* POINTER, align N".
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
  ++counted["hooked"]
}

# How much of the text is its first value: to a comma or a bracket that is not within brackets or quotes, as in
# "bitcast ({ i32, i8 }* @rules to %struct.Rules*), i64 8)".
function length_of(text,    i, c, depth, quoted) {
  for (i = 1; i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (c == "\"") quoted = !quoted
    if (quoted) continue
    if (depth == 0 && (c == "," || c == ")")) break
    if (c ~ /[({[]/) ++depth
    if (c ~ /[)}\]]/) --depth
  }
  return i - 1
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

# What an access is that has no hook.
function kind_of(pointer,    steps) {
  while (pointer in part_of && ++steps < 100) pointer = part_of[pointer]
  if (pointer in of_kind) return of_kind[pointer]
  if (!match(pointer, /@("[^"]*"|[A-Za-z0-9_.$]+)/)) return "without"
  pointer = substr(pointer, RSTART, RLENGTH)
  return pointer ~ /^@__llvm_gcov_/ ? "place" : pointer in is_constant ? "constant" : "without"
}

function count(kind) {
  if (!in_hooked) kind = starts ? "host" : "without"
  if (kind == "without" && !where) where = " in " in_function
  ++counted[kind]
}

FNR == NR {
  if (/ sanitize_thread /) hooked[$2] = 1
  next
}

/^@.* constant / { is_constant[$1] = 1 }

/^define / {
  match($0, /@("[^"]*"|[A-Za-z0-9_.$]+)[(]/)
  in_function = substr($0, RSTART + 1, RLENGTH - 2)
  starts = in_function ~ /10KernelCall.*E(3run|5start)/
  split("", part_of)
  split("", of_kind)
  in_hooked = 0
  for (i = 2; i <= NF; ++i)
    if ($i ~ /^#[0-9]+$/ && $i in hooked) in_hooked = 1
}

# From clang++ 15 on, pointers have no type.
!pointers && (/^define .*[(]ptr[ ,)]/ || /^  (%[^ ]+ = )?(load|store) .*, ptr / || /[(]ptr [^(]*byval[(]/) {
  pointers = 1
}

# From clang++ 15 on, threadIdx and its kin have hooks, which take time and say nothing.
in_hooked && / call void @__tsan_read[0-9]+\([^@]*@__llvm_gcov_/ { next }

in_function && /^  %[^ ]+ = (bitcast|getelementptr) / {
  if (match($0, /(\*|[ (]ptr) [%@]("[^"]*"|[^ ,)]+)/)) {
    part_of[$1] = substr($0, RSTART, RLENGTH)
    sub(/^[ (]?(ptr|[*]) /, "", part_of[$1])
  }
}
in_function && /^  %[^ ]+ = alloca / { of_kind[$1] = "own" }

in_function && /^  (%[^ ]+ = )?(load|store) / {
  type = $0
  sub(/^  (%[^ ]+ = )?(load|store) (atomic )?(volatile )?/, "", type)
  kind = /^  store/ ? "write" : "read"
  if (type ~ /^</) sub(/>.*/, ">", type)
  else sub(/[ ,].*/, "", type)
  bytes = bytes_of(type)
  if (previous ~ / call void @__tsan_/) {
    ++counted["hooked"]
    if (previous ~ /@__tsan_vptr_read/) of_kind[$1] = "constant"
  } else if (in_hooked && / (load|store) atomic / && parse($0, type)) {
    hook("__tsan_cpp_atomic", type, pointer, "")
  } else if (in_hooked && bytes && bytes !~ /^(1|2|4|8|16)$/ && parse($0, type)) {
    hook("__tsan_" kind "_range", type, pointer, ", i64 " bytes)
  } else {
    # No constant is written, so that a store's address in brackets is nobody's.
    rest = $0
    sub(/( (unordered|monotonic|acquire|release|seq_cst))?, align [0-9].*/, "", rest)
    if (rest !~ /[)]$/) sub(/.* /, "", rest)
    count(kind == "write" && rest ~ /[)]$/ ? "without" : kind_of(rest))
  }
}
# What the compiler would make calls of, or many accesses.
in_hooked && / call .*@llvm\.(mem(cpy|move|set)|masked)\./ { count("without") }

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
in_function && !in_hooked && /^  (%[^ ]+ = )?(atomicrmw|cmpxchg) / { count() }

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
    pointer = substr(pointer, 1, length_of(pointer))
    any = pointers ? "ptr" : type "*"
    hook("__tsan_read_range", type, pointer,
         ", i64 ptrtoint (" any " getelementptr (" type ", " any " null, i32 1) to i64)")
  }
}

{
  print
  previous = $0
}
/^}/ { in_function = in_hooked = "" }

END {
  kinds = split("hooked own place constant host without", kind_at, " ")
  for (i = 1; i <= kinds; ++i) text = text (i > 1 ? ", " : "") kind_at[i] " " counted[kind_at[i]] + 0
  if (counts) printf "%s%c", text where, 0 > counts
  for (name in used) print "declare void @" name "(" (pointers ? "ptr" : "i8*") (used[name] ? ", i64" : "") ")"
}
