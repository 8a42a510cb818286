/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/tests/int4_orders.h"

#include <math.h>

typedef struct {
    int32_t acc, rowsum;
} sums;

static sums group_sums(const int4_row *r, int g) {
    sums s = {0, 0};
    for (int i = g * r->group; i < (g + 1) * r->group; i++) {
        s.acc += r->q[i] * r->w[i];
        s.rowsum += r->w[i];
    }
    return s;
}

static float channel_in_order(int order, const int4_row *r) {
    sums s = group_sums(r, 0);
    float acc = (float)(s.acc - (int32_t)r->zero_point * s.rowsum);
    float s_x = r->s_x, s_w = r->scales[0], bias = r->bias;
    switch (order) {
    case 0:
        return acc * (s_x * s_w) + bias;
    case 1:
        return acc * s_x * s_w + bias;
    case 2:
        return acc * s_w * s_x + bias;
    case 3:
        return fmaf(acc, s_x * s_w, bias);
    case 4:
        return fmaf(acc * s_x, s_w, bias);
    case 5: /* nibbles in the upper half of a byte: 16 times the weights */
        return fmaf(acc * 16.0f * (s_w * 0.0625f), s_x, bias);
    default:
        return (float)((double)acc * (double)s_x * (double)s_w + (double)bias);
    }
}

/* The place of the i-th group in the order: forwards, backwards, even ones first, scattered. */
static int place(int order, int i, int groups) {
    int even = (groups + 1) / 2;
    switch (order) {
    case 1:
        return groups - 1 - i;
    case 6:
        return i < even ? 2 * i : 2 * (i - even) + 1;
    case 9:
        return groups % 5 ? (5 * i + 3) % groups : (7 * i + 3) % groups;
    default:
        return i;
    }
}

/* One side: sum of value * scale, in up to four lanes. */
static float side(int order, const int4_row *r, int rowsums) {
    float lanes[4] = {0, 0, 0, 0};
    int groups = r->k / r->group, fused = order == 1 || order == 3 || order == 5;
    for (int i = 0; i < groups; i++) {
        int g = place(order, i, groups), lane = order == 2 ? i % 4 : 0;
        sums s = group_sums(r, g);
        float value = (float)(rowsums ? s.rowsum : s.acc);
        float scale = order == 3 ? r->scales[g] * r->s_x : r->scales[g];
        if (order == 8)
            value *= r->s_x;
        lanes[lane] = fused ? fmaf(value, scale, lanes[lane]) : value * scale + lanes[lane];
    }
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

/* The integers subtracted first. */
static float centered(const int4_row *r) {
    float sum = 0;
    for (int g = 0; g < r->k / r->group; g++) {
        sums s = group_sums(r, g);
        sum = fmaf((float)(s.acc - (int32_t)r->zero_point * s.rowsum), r->scales[g], sum);
    }
    return fmaf(sum, r->s_x, r->bias);
}

static float exact(const int4_row *r) {
    double sum = 0;
    for (int g = 0; g < r->k / r->group; g++) {
        sums s = group_sums(r, g);
        sum += (double)(s.acc - (int32_t)r->zero_point * s.rowsum) * (double)r->scales[g];
    }
    return (float)(sum * (double)r->s_x + (double)r->bias);
}

float int4_in_order(int order, const int4_row *r) {
    if (r->channel)
        return channel_in_order(order, r);
    if (order == 4)
        return centered(r);
    if (order == 7)
        return exact(r);
    float left = side(order, r, 0), right = r->zero_point == 0 ? 0 : side(order, r, 1);
    float difference = order % 2 ? fmaf(-r->zero_point, right, left) : left - r->zero_point * right;
    if (order == 3 || order == 8) /* s_x is in it already */
        return difference + r->bias;
    return order == 1 ? fmaf(difference, r->s_x, r->bias) : difference * r->s_x + r->bias;
}
