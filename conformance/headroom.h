/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that can be used without the kernel having to end a process. */
#ifndef ARMQ_CONFORMANCE_HEADROOM_H
#define ARMQ_CONFORMANCE_HEADROOM_H

/* Bytes that are available now (Linux: MemAvailable); infinite if unknown. */
double headroom_bytes(void);

#endif
