#pragma once
#include "device/cooperative_groups.h"
