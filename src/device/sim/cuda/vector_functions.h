#pragma once
#include "device/kernel.h"
