#pragma once
#include "device/sim/cuda/cuda_runtime.h"
