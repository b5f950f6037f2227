// SPDX-License-Identifier: MIT
// Means over a binomial distribution, for numbers of trials up to 2^60.

/** ln(n!) - (n ln n - n), by Stirling's series; exact for small n. */
function logFactorialRest(n) {
  if (n < 16) {
    let log = 0;
    for (let i = 2; i <= n; i++) log += Math.log(i);
    return n === 0 ? 0 : log - n * Math.log(n) + n;
  }
  return 0.5 * Math.log(2 * Math.PI * n) + 1 / (12 * n) - 1 / (360 * n ** 3) + 1 / (1260 * n ** 5);
}

/** count * ln(count / mean) - count + mean, without cancellation where count is near mean. */
function deviance(count, mean) {
  const difference = count - mean;
  if (Math.abs(difference) > 0.1 * (count + mean)) return count === 0 ? mean : count * Math.log(count / mean) - difference;
  const ratio = difference / (count + mean);
  let sum = difference * ratio;
  let term = 2 * count * ratio;
  for (let i = 1; i < 100; i++) {
    term *= ratio * ratio;
    const next = sum + term / (2 * i + 1);
    if (next === sum) break;
    sum = next;
  }
  return sum;
}

/** The probability of `count` successes of n trials with probability p each (Loader's saddle-point form). */
function binomial(n, p, count) {
  if (count < 0 || count > n) return 0;
  const left = n - count;
  if (count === 0) return Math.exp(n * Math.log1p(-p));
  if (left === 0) return Math.exp(n * Math.log(p));
  const rest = logFactorialRest(n) - logFactorialRest(count) - logFactorialRest(left);
  return Math.exp(rest - deviance(count, n * p) - deviance(left, n * (1 - p)));
}

/** The sum of value(count) * probability in one direction, until the terms fall and are small against the sum. */
function sumFrom(n, p, value, first, step) {
  const near = 9 * Math.sqrt(n * p * (1 - p));
  const odds = p / (1 - p);
  let chance = binomial(n, p, first);
  let [sum, before] = [0, Infinity];
  for (let count = first; count >= 0 && count <= n; count += step) {
    const term = chance * value(count);
    sum += term;
    if (term < before && term < sum * 1e-14 && Math.abs(count - first) > near) break;
    before = term;
    chance *= step > 0 ? ((n - count) / (count + 1)) * odds : count / ((n - count + 1) * odds);
  }
  return sum;
}

/** The mean of value(count) over that distribution. */
export function binomialMean(n, p, value) {
  const middle = Math.min(n, Math.round(n * p));
  return sumFrom(n, p, value, middle, -1) + sumFrom(n, p, value, middle + 1, 1);
}
