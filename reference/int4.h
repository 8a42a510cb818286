/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the reference: int4 weights in each format, and a row of activations times a row of them.
 * reference/README.md, "int4 weights". */
#ifndef ARMQ_REFERENCE_INT4_H
#define ARMQ_REFERENCE_INT4_H

#include "reference/requantize.h"

/* Groups along k, each with a scale and zero point; 1 if per channel. */
int64_t ref_groups(const armq_desc *desc, int64_t k);

/* True if format, group size and dtype of the scales belong together; k: of either product. */
bool ref_int4_accepts(const armq_desc *desc, int64_t k);

/* w - zero point of row `row` (expert * N + n) of weights [.., k]: in [-15, 15]. */
void ref_int4_row(const armq_desc *desc, const armq_weights *weights, int64_t row, int64_t k,
                  int8_t *w);

/* Writes rows x k values in [-8, 7], one per byte, as `format` stores them; padding is zeros. */
void ref_int4_pack(armq_weight_format format, const int8_t *values, int64_t rows, int64_t k,
                   void *packed);

/* Bytes of such a row. */
int64_t ref_int4_row_bytes(armq_weight_format format, int64_t k);

/* x times that row, dequantised: the hull over `count` variants of x. scratch [k]. */
ref_interval ref_int4_product(const armq_desc *desc, const armq_weights *weights, int64_t row,
                              int64_t k, const ref_variant *x, int count, int8_t *scratch);

/* The same for unquantised values. */
double ref_int4_exact(const armq_desc *desc, const armq_weights *weights, int64_t row, int64_t k,
                      const double *values);

#endif
