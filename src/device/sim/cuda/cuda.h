#pragma once
/// The driver's header, whose calls are not simulated: programs include it for its constants.

#define CUDA_VERSION 13000

#include "device/sim/cuda/cuda_runtime.h"
