// SPDX-License-Identifier: Apache-2.0
#include "fs/source.h"
