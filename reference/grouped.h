/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the reference: a product whose weights have a scale per group along K.
 * reference/README.md, "Groups". */
#ifndef ARMQ_REFERENCE_GROUPED_H
#define ARMQ_REFERENCE_GROUPED_H

#include "reference/requantize.h"

/* (sum_g f32(acc_g) * s_g - zp * sum_g s_g * rowsum_g) * s_x. x: k integers, scale and zero point;
 * w [k]; scales: bf16 [k / group_size]. The groups in any order, the factors too. */
ref_interval ref_grouped_product(const armq_dialect *dialect, const ref_variant *x, const int8_t *w,
                                 int64_t k, int64_t group_size, const uint16_t *scales);

#endif
