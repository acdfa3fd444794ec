# shellcheck shell=bash
# What ./check and ./reproduce share: installing what is missing, building, testing, and telling what was done.
# Sourced with the project's root as working directory.

set -uo pipefail
exec </dev/null # nothing below may wait for an answer
export PATH=${PATH:-/usr/bin:/bin}:/usr/local/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8
[[ -n ${HOME:-} ]] || { HOME=$(getent passwd "$(id -u)" | cut -d: -f6) && export HOME; }

root=$PWD
logs=$root/build/logs
jobs=$(nproc 2>/dev/null || echo 2)
venv=$root/.venv
mkdir -p "$logs" || exit 1

# One run at a time in one checkout: two would write the same build.
if command -v flock >/dev/null; then
  exec 9>"$root/build/.lock"
  flock -n 9 || { echo "another ./check or ./reproduce runs in this folder; waiting for it to end"; flock 9; }
fi

# --- telling ---------------------------------------------------------------------------------------------------------

summary=()
clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# cpu_seconds: sets $cpu to the seconds that this script and all that it started and saw end have computed, user and system.
# In no subshell, which would have none.
cpu=0
cpu_seconds() {
  local fields ticks
  if ! read -r fields </proc/$$/stat; then cpu=0 && return; fi
  # Behind the name, which may hold anything: state is the first, utime to cstime the 12th to the 15th.
  read -ra fields <<<"${fields##*) }"
  ticks=$((fields[11] + fields[12] + fields[13] + fields[14]))
  cpu=$((ticks / $(getconf CLK_TCK 2>/dev/null || echo 100)))
}

# step TITLE FUNCTION [ARG...]: runs the function, which leaves in $did what it did and in $lies where that lies.
step() {
  local title=$1 start=$SECONDS status=0 computed
  shift
  did="" lies=""
  printf '[%5s] %s\n' "$(clock "$SECONDS")" "$title"
  cpu_seconds && computed=$cpu
  "$@" || status=$?
  cpu_seconds && computed=$((cpu - computed))
  ((status == 0)) || did=FAILED
  summary+=("$(printf '%-34s %6s %6s  %s%s' "$title" "$(clock $((SECONDS - start)))" "$(clock "$computed")" \
    "${did:-done}" "${lies:+  ($lies)}")")
  ((status == 0)) || stop "$title failed"
  printf '        %s\n' "${did:-done}"
}

show_summary() {
  printf '\n%-34s %6s %6s  %s\n' "step" "m:s" "CPU" "what was done  (where it lies)"
  ((${#summary[@]} == 0)) || printf '%s\n' "${summary[@]}"
  cpu_seconds
  printf '%-34s %6s %6s\n' "altogether" "$(clock "$SECONDS")" "$(clock "$cpu")"
}

# Defined by the caller if it has a last word.
last_line() { :; }

stop() {
  show_summary
  echo
  echo "$1" >&2
  last_line 1
  exit 1
}

# logged NAME COMMAND...: output to build/logs/NAME.log, its last lines shown if the command fails. On a terminal the
# line that is being written shows that something moves.
logged() {
  local log=$logs/$1.log status=0 ticker=""
  shift
  : >"$log"
  if [[ -t 1 ]]; then
    while sleep 0.5 && kill -0 $$ 2>/dev/null; do
      printf '\r\033[K        %s' "$(tail -n 1 "$log" | tr -d '\r' | cut -c "1-$((${COLUMNS:-100} - 10))")"
    done 9>&- &
    ticker=$!
  fi
  "$@" >"$log" 2>&1 9>&- || status=$?
  if [[ -n $ticker ]]; then
    kill "$ticker" && wait "$ticker" 2>/dev/null
    printf '\r\033[K'
  fi
  if ((status != 0)); then
    echo "        failed with exit code $status; the end of ${log#"$root/"}:" >&2
    tail -n 40 "$log" | sed 's/^/        | /' >&2
  fi
  return "$status"
}

# --- setting up ------------------------------------------------------------------------------------------------------

# "package: how to see that it is there already", so that what was installed by other means counts too.
python_package=("python3-venv: python3 -c 'import ensurepip, venv'")
# shellcheck disable=SC2034 # for the scripts that source this
build_packages=(
  "${python_package[@]}"
  "g++: command -v g++"
  "clang: command -v clang++"
  "cmake: command -v cmake"
  "ninja-build: command -v ninja"
  "ccache: command -v ccache"
  "git: command -v git"
  "libboost-context-dev: header boost/context/fiber.hpp"
  "libcli11-dev: header CLI/CLI.hpp"
  "libfmt-dev: header fmt/format.h"
  "nlohmann-json3-dev: header nlohmann/json.hpp"
  "libeigen3-dev: header eigen3/Eigen/Core"
  "libtbb-dev: header tbb/parallel_for.h"
  "libomp-dev: omp_for_clang"
  "zlib1g-dev: header zlib.h"
)
# shellcheck disable=SC2034 # for the scripts that source this
test_packages=(
  "libgtest-dev: header gtest/gtest.h"
  "shellcheck: command -v shellcheck"
)
# shellcheck disable=SC2034 # for the scripts that source this
paper_packages=(
  "latexmk: command -v latexmk"
  "texlive-latex-base: command -v pdflatex"
  "texlive-latex-recommended: tex booktabs.sty && tex microtype.sty"
  "texlive-fonts-recommended: tex ptmr8t.tfm"
  "lmodern: tex ec-lmtt10.tfm"
  "librsvg2-bin: command -v rsvg-convert"
  "fonts-liberation: command -v fc-match && fc-match Helvetica | grep -v DejaVu"
)
header() { [[ -e /usr/include/$1 || -e /usr/local/include/$1 ]]; }
tex() { command -v kpsewhich >/dev/null && [[ -n $(kpsewhich "$1") ]]; }
omp_for_clang() { echo '#include <omp.h>' | clang++ -fopenmp -x c++ -fsyntax-only - 2>/dev/null; }

# locked_out LOG: whether apt-get ended because another program holds one of its locks.
locked_out() { tail -n 3 "$1" | grep -qE 'Could not get lock|Unable to (lock|acquire)'; }

# apt_get LOG COMMAND...: tries again for two minutes while another program holds one of apt's locks, and says so on file
# descriptor 8. DPkg::Lock::Timeout would not do: `apt-get update` gives up at once where the lists are locked.
apt_get() {
  local log=$1 tries status=1
  shift
  for ((tries = 0; tries < 60; ++tries)); do
    status=0
    "$@" || status=$?
    if ((status == 0)) || ! locked_out "$log"; then return "$status"; fi
    ((tries > 0)) || echo "        another program holds apt's lock; waiting up to two minutes for it" >&8
    sleep 2
  done
  echo "another program still holds apt's lock; let it end, then start this again"
  return "$status"
}

# packages "PACKAGE: PROBE"...: installs with apt-get what its probe does not find.
packages() {
  local entry missing=() as_root=()
  for entry in "$@"; do
    (eval "${entry#*: }") >/dev/null 2>&1 || missing+=("${entry%%:*}")
  done
  did="reused: all $# are there"
  ((${#missing[@]} > 0)) || return 0
  if ! command -v apt-get >/dev/null; then
    echo "missing, and there is no apt-get to install them; Debian calls them: ${missing[*]}" >&2
    return 1
  fi
  if [[ $(id -u) != 0 ]]; then
    if ! sudo -n true 2>/dev/null; then
      printf 'missing packages; please run\n\n  sudo apt-get install -y %s\n\nand start this again\n' "${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  did="installed: ${missing[*]}"
  as_root+=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get)
  logged apt-update apt_get "$logs/apt-update.log" "${as_root[@]}" update 8>&1 &&
    logged apt-install apt_get "$logs/apt-install.log" "${as_root[@]}" install -y --no-install-recommends "${missing[@]}" 8>&1
}

# A browser for the tests of the report. They are skipped without one, as on Ubuntu, whose chromium is a snap.
browser_packages() {
  did="left out: tests of the report in a browser are skipped; Debian's packages are chromium and chromium-driver"
  if command -v chromedriver >/dev/null || grep -q '^ID=debian' /etc/os-release 2>/dev/null; then
    packages "chromium: command -v chromium || command -v google-chrome" "chromium-driver: command -v chromedriver" \
      2>/dev/null || return 0
  fi
}

# The project's own Python, with the pinned packages of requirements.txt.
python_packages() {
  local wanted
  wanted=$(sha256sum requirements.txt | cut -d' ' -f1)
  did="reused" lies=.venv
  if [[ -x $venv/bin/python && $(cat "$venv/.requirements" 2>/dev/null) == "$wanted" ]] &&
    "$venv/bin/python" -c 'import pytest' 2>/dev/null; then
    return 0
  fi
  did="installed requirements.txt"
  if ! "$venv/bin/python" -c '' 2>/dev/null; then
    logged venv python3 -m venv --clear "$venv" || return 1
  fi
  # Of pyobsplot the script that it holds is wanted, not the notebooks' packages that it names.
  grep -v '^pyobsplot' requirements.txt >build/requirements.txt
  logged pip "$venv/bin/python" -m pip install --disable-pip-version-check --no-input -r build/requirements.txt || return 1
  grep '^pyobsplot' requirements.txt >build/requirements.txt
  logged pip-script "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-deps \
    -r build/requirements.txt || return 1
  echo "$wanted" >"$venv/.requirements"
}

# --- building --------------------------------------------------------------------------------------------------------

build_folder() { if [[ $1 == release ]]; then echo build; else echo "build/$1"; fi; }

programs() { sha256sum "$1"/bin/* 2>/dev/null; }

# build PRESET [TARGET...]
build() {
  local folder before configure=(cmake --preset "$1" -DREDUCTIO_PYTHON="$venv/bin/python")
  folder=$(build_folder "$1")
  lies=$folder
  # A checkout that was moved or copied has a cache that names its old place.
  if [[ -e $folder/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
    configure+=(--fresh)
  fi
  # To measure every release of CUB where there is a GPU; fewer would do for the tests, and take minutes less.
  if [[ -n ${gpus:-} ]]; then configure+=(-DREDUCTIO_CCCL_RELEASES=all); fi
  before=$(programs "$folder")
  logged "configure-$1" "${configure[@]}" || return 1
  logged "build-$1" cmake --build "$folder" -j "$jobs" ${2:+--target "${@:2}"} || return 1
  did=built
  if [[ $(programs "$folder") == "$before" ]]; then did="reused: up to date"; fi
  did+=$(grep -o 'reductio: CUDA.*' "$logs/configure-$1.log" | sed -n 's/^reductio: CUDA ON \(.*\)/, CUDA \1/p; s/^reductio: CUDA OFF.*/, without CUDA/p')
}

# --- testing ---------------------------------------------------------------------------------------------------------

passed=0 failed=0 skipped=0

# What the results of a test run depend on: the project's text, the built programs and the GPU.
fingerprint() {
  {
    if [[ -e .git ]]; then git ls-files -co --exclude-standard -z; else
      find . \( -name build -o -name out -o -name .venv \) -prune -o -type f -print0
    fi | sort -z | xargs -0 sha256sum 2>/dev/null
    programs "$1"
    cat "$venv/.requirements"
    nvidia-smi -L 2>/dev/null
    echo "$2"
  } | sha256sum | cut -d' ' -f1
}

# run_tests PRESET [CTEST ARGUMENT...]: adds to passed, failed and skipped. Results of the same programs on the same
# sources are reused if all passed; $again runs them all the same.
run_tests() {
  local preset=$1 folder stamp mark old p f s status=0
  shift
  folder=$(build_folder "$preset")
  lies=$folder/Testing/junit.xml
  stamp=$folder/Testing/passed
  mark=$(fingerprint "$folder" "$*")
  mkdir -p "$folder/Testing"
  if [[ -z ${again:-} && -e $stamp ]] && read -r old p f s <"$stamp" && [[ $old == "$mark" ]]; then
    did="reused: $p passed, $f failed, $s skipped on $(date -r "$stamp" '+%F %H:%M')"
  else
    rm -f "$stamp" "$folder"/Testing/*.xml
    logged "test-$preset" ctest --test-dir "$folder" -j "$jobs" --output-on-failure \
      --output-junit Testing/junit.xml "$@" || status=$?
    p=0 f=0 s=0
    if [[ -e $folder/Testing/junit.xml ]]; then
      read -r p f s < <("$venv/bin/python" tools/tally.py "$folder/Testing" || echo 0 1 0)
    fi
    # ctest that stops before any test has failed, whatever it counted.
    if ((status != 0 && f == 0)) || ((p + f == 0)); then f=$((f + 1)); fi
    did="$p passed, $f failed, $s skipped"
    if ((f == 0)); then echo "$mark $p $f $s" >"$stamp"; fi
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}
