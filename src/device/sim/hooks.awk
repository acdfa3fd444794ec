# Reads the assembly that clang++ -fsanitize=thread writes, and makes the simulated device's of it (hooks.h):
#   - each hook gets, as one more argument, its place in the source: an entry of the table `reductio_places`;
#   - copies, fills and comparisons of memory, functions of math.h that store by a pointer, clock(), and the handlers of
#     misaligned accesses and bad indices, are ours;
#   - shared arrays get their names: `reductio_arrays`. What is only declared, as dynamic shared memory is, has no size;
#   - variables, as __device__ ones, get their sizes and names, and whose they are: `reductio_variables`;
#   - where `program` is set, memory of kernels' own and what they print are ours, and variables are the host's but
#     those that `of_device` names, one a line, and static ones of functions.

function string(text) {
  if (!(text in strings)) strings[text] = ++n_strings
  return ".Lreductio_string" strings[text]
}

# The label of the present place in the table.
function place(    key) {
  key = file SUBSEP line SUBSEP column
  if (!(key in places)) {
    places[key] = ++n_places
    place_of[n_places] = key
  }
  return ".Lreductio_place" places[key]
}

# .file NUMBER "FOLDER" "NAME": the folder is there where the name is relative to another one than the compiler's.
$1 == ".file" && $2 ~ /^[0-9]+$/ {
  n = split($0, quoted, "\"")
  name = n >= 5 && quoted[4] !~ /^\// && quoted[2] != "." ? quoted[2] "/" quoted[4] : (n >= 5 ? quoted[4] : quoted[2])
  files[$2] = name
  next
}

# .loc FILE LINE COLUMN; line 0: nobody's, as of a register that is loaded again. Columns: place.h's known_column().
$1 == ".loc" {
  if ($3 > 0) { file = $2; line = $3; column = $4 <= 1000 ? $4 : 0 }
  next
}

BEGIN {
  ours = "^(__tsan_|__ubsan_handle_(type_mismatch_v1|out_of_bounds|alignment_assumption)|__emutls_get_address|"
  ours = ours "(mem(cpy|move|set|cmp)|bcmp|(sincos|frexp|modf|remquo)f?|clock)(@PLT)?$)"
  # What kernels of programs call of the C library, by the names of ours (runtime.cpp).
  split("malloc free printf vprintf puts putchar", library, " ")
  for (i in library) replaced[library[i]] = "reductio_" library[i]
  while (of_device && (getline name < of_device) > 0) is_of_device[name] = 1
  replaced["_Znwm"] = replaced["_Znam"] = "reductio_malloc"
  replaced["_ZdlPv"] = replaced["_ZdaPv"] = replaced["_ZdlPvm"] = replaced["_ZdaPvm"] = "reductio_free"
}

program && $1 ~ /^(callq|jmp)$/ {
  call = $2
  sub(/@PLT$/, "", call)
  if (call in replaced) {
    print "\t" $1 "\t" replaced[call] "@PLT"
    next
  }
}

$1 ~ /^(callq|jmp)$/ && $2 ~ ours {
  # The place comes after the arguments that the call has.
  call = $2
  sub(/@PLT$/, "", call)
  register = call ~ /mem(cpy|move|set|cmp)$|bcmp$/ ? "rcx" : call ~ /_range$|sincosf?$/ ? "rdx" : ""
  if (call ~ /^__tsan_|^(frexp|modf|remquo)f?$/ && !register) register = "rsi"
  if (call ~ /^__/) sub(/^__(tsan_|ubsan_handle_)?/, "reductio_", call)
  else call = "reductio_" call
  if (register && call !~ /_init$/) print "\tleaq\t" place() "(%rip), %" register
  print "\t" $1 "\t" call "@PLT"
  next
}

# Zeros have no section of their own: `.comm NAME,BYTES,ALIGNMENT`.
$1 == ".section" || $1 == ".data" || $1 == ".bss" || $1 == ".text" {
  section = $1 == ".section" ? $2 : $1
  constant = section ~ /^"?\.(rodata|data\.rel\.ro)/
  variables = constant || section ~ /^"?\.(data|bss)/
}
$1 == ".type" && $2 ~ /,@object$/ { object = substr($2, 1, length($2) - length(",@object")) }
$1 == ".comm" || ($1 == ".size" && variables) {
  split($2 $3, part, ",")
  if (part[1] == object && object !~ /^(__emutls|DW\.ref|_Z(TV|TI|TS|GV)|\.L)/)
    bytes_of[object] = part[2] ", " ($1 == ".size" && constant ? 1 : program && !(object in is_of_device) && object !~ /^_ZZ/ ? 2 : 0)
}

$1 == ".addrsig_sym" || $1 == ".addrsig" { next }

/^__emutls_v\..*:/ {
  name = $1
  sub(/:$/, "", name)
  defined[name] = 1
}
{
  rest = $0
  while (match(rest, /__emutls_v\.[A-Za-z0-9_.$]+/)) {
    seen[substr(rest, RSTART, RLENGTH)] = 1
    rest = substr(rest, RSTART + RLENGTH)
  }
  print
}

END {
  for (name in seen) {
    if (name in defined) continue
    print "\t.data\n\t.p2align 3\n\t.local\t" name "\n" name ":\n\t.quad\t0, 16, 0, 0"
  }
  print "\t.section\treductio_arrays,\"aw\",@progbits\n\t.p2align 3"
  for (name in seen) print "\t.quad\t" name "\n\t.quad\t" string(substr(name, length("__emutls_v.") + 1))
  print "\t.section\treductio_variables,\"aw\",@progbits\n\t.p2align 3"
  for (name in bytes_of) print "\t.quad\t" name ", " bytes_of[name] "\n\t.quad\t" string(name)
  print "\t.section\treductio_places,\"a\",@progbits\n\t.p2align 4"
  for (i = 1; i <= n_places; ++i) {
    split(place_of[i], part, SUBSEP)
    print ".Lreductio_place" i ":\n\t.long\t" string(files[part[1]]) " - ., " part[2] + 0 ", " part[3] + 0 ", 0"
  }
  print "\t.section\t.rodata.str1.1,\"aMS\",@progbits,1"
  for (text in strings) print ".Lreductio_string" strings[text] ":\n\t.asciz\t\"" text "\""
}
