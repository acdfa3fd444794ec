#!/bin/sh
# release_or_none.sh NAME LOG COMPILER ARG...: compiles one release of CUB. One that this nvcc does not compile is built
# as absent, and the build goes on: the program says so of its variants.
name=$1 log=$2
shift 2
"$@" >"$log" 2>&1 && exit 0
echo "reductio: CUB $name does not compile with this nvcc, so the program is built without it ($log)" >&2
exec "$@" -DREDUCTIO_CCCL_UNCOMPILED
