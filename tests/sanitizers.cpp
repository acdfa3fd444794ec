/// What the sanitizers must know of other people's libraries; without them nobody calls this.

extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libomp.so\n";  // LLVM's OpenMP keeps its threads for as long as the process lives
}
