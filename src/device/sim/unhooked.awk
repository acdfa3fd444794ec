# Reads the intermediate code that odd_accesses.awk has written, hands it on, and counts the loads and stores before
# which no hook stands for that address. The object says so, in a section that takes no memory: reductio_unhooked.
# tests/device/test_hooks.py reads it in the linked program: what is neither of the kinds below has no excuse.
#   own        a local variable whose address nobody else gets
#   place      threadIdx and its kin
#   constant   of the program: tables of virtual functions, literals
#   host       the start of a kernel, which reads the host's copies of its arguments

# A text's part before the first comma or bracket that closes, outside of brackets and quotes.
function first_of(text,    i, c, depth, quoted) {
  for (i = 1; i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (c == "\"") quoted = !quoted
    if (quoted) continue
    if (depth == 0 && (c == "," || c == ")")) break
    if (c ~ /[({[<]/) ++depth
    if (c ~ /[)}\]>]/) --depth
  }
  return substr(text, 1, i - 1)
}

# The value of "TYPE VALUE": what stands behind the last blank outside of brackets, with a cast before the brackets.
function value_of(text,    i, c, depth) {
  for (i = length(text); i > 0; --i) {
    c = substr(text, i, 1)
    if (c ~ /[)}\]>]/) ++depth
    if (c ~ /[({[<]/) --depth
    if (c == " " && depth == 0 && substr(text, i + 1, 1) != "(") break
  }
  return same(substr(text, i + 1))
}

# The same address by one name: without casts, and a constant by its variable and the numbers that are added to it.
function same(value,    name, steps) {
  while (value in cast_of) value = cast_of[value]
  if (value !~ /[(]/ || !match(value, /@("[^"]*"|[A-Za-z0-9_.$]+)/)) return value
  name = substr(value, RSTART, RLENGTH)
  steps = substr(value, RSTART + RLENGTH)
  gsub(/ to [^()]*|i(32|64) 0|i(32|64) /, " ", steps)
  gsub(/[^0-9-]+/, " ", steps)
  return name (steps ~ /[0-9]/ ? steps : "")
}

# Where a pointer comes from.
function origin(value,    n) {
  while (value in part_of && n++ < 100) value = part_of[value]
  if (value in kind_of) return kind_of[value]
  if (!match(value, /^@("[^"]*"|[A-Za-z0-9_.$]+)/)) return "without"
  value = substr(value, RSTART, RLENGTH)
  return value ~ /^@__llvm_gcov_/ ? "place" : value in is_constant ? "constant" : "without"
}

function count(kind) {
  if (!counts[group, kind]++) first[group, kind] = in_function
}

{ print }

/^@.* constant / { is_constant[$1] = 1 }

/^define / {
  match($0, /@("[^"]*"|[A-Za-z0-9_.$]+)[(]/)
  in_function = substr($0, RSTART + 1, RLENGTH - 2)
  group = "none"
  for (i = 2; i <= NF; ++i)
    if ($i ~ /^#[0-9]+$/) group = $i
  if (in_function ~ /10KernelCall.*E(3run|5start)/) group = group " host"
  split("", cast_of)
  split("", part_of)
  split("", kind_of)
}
/^}/ { in_function = "" }
/^attributes #/ && / sanitize_thread / { hooked[$2] = 1 }

/^define / || /^[^ ]+:/ { split("", waiting) }
!in_function { next }

# Until it is used: a hook stands in the block of the access.
/ call void @__tsan_/ {
  match($0, /@__tsan_[a-z_]+/)
  hook = substr($0, RSTART + 8, RLENGTH - 8)
  rest = substr($0, index($0, "(") + 1)
  key = (hook ~ /atomic/ ? "atomic" : hook ~ /write|update/ ? "store" : "load") SUBSEP value_of(first_of(rest))
  ++waiting[key]
  if (hook ~ /vptr_read/) is_table[key] = 1
  next
}

/^  %[^ ]+ = (bitcast|addrspacecast) / {
  rest = substr($0, index($0, "cast ") + 5)
  cast_of[$1] = value_of(substr(rest, 1, index(rest, " to ") - 1))
}
/^  %[^ ]+ = getelementptr / {
  rest = substr($0, index($0, "getelementptr ") + 14)
  part_of[$1] = value_of(first_of(substr(rest, length(first_of(rest)) + 3)))
}
/^  %[^ ]+ = alloca / { kind_of[$1] = "own" }

/^  (%[^ ]+ = )?(load|store|atomicrmw|cmpxchg) / {
  rest = $0
  operation = / (load|store) atomic | = (atomicrmw|cmpxchg) / ? "atomic" : /^  store/ ? "store" : "load"
  sub(/^  (%[^ ]+ = )?(load|store|atomicrmw|cmpxchg) (weak )?(atomic )?(volatile )?/, "", rest)
  sub(/^(xchg|add|sub|and|nand|or|xor|u?max|u?min|fadd|fsub) /, "", rest)
  if (/^  (%[^ ]+ = )?(load|store)/) rest = substr(rest, length(first_of(rest)) + 3)
  rest = first_of(rest)
  sub(/ syncscope.*| (unordered|monotonic|acquire|release|seq_cst)$/, "", rest)
  pointer = value_of(rest)
  key = operation SUBSEP pointer
  if (waiting[key] > 0) {
    --waiting[key]
    count("hooked")
    if (key in is_table) kind_of[$1] = "constant"
  } else count(origin(pointer))
}
# What the compiler would make calls of, or many accesses.
/ call .*@llvm\.(mem(cpy|move|set)|masked)\./ { count("without") }

END {
  for (key in counts) {
    split(key, part, SUBSEP)
    split(part[1], of, " ")
    kind = of[1] in hooked ? part[2] : of[2] == "host" ? "host" : "without"
    sum[kind] += counts[key]
    if (kind == "without") where = " in " first[key]
  }
  kinds = split("hooked own place constant host without", kind_at, " ")
  for (i = 1; i <= kinds; ++i) text = text (i > 1 ? ", " : "") kind_at[i] " " sum[kind_at[i]] + 0
  print "module asm \".pushsection reductio_unhooked,\\22\\22,@progbits\""
  print "module asm \".asciz \\22" text where "\\22\""
  print "module asm \".popsection\""
}
