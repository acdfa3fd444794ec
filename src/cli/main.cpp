#include "cli/commands.h"

int main(int argc, char** argv) { return reductio::cli::program(argc, argv); }
