#pragma once
#include "device/sim/cooperative_groups.h"
