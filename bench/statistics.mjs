export function median(values) {
  return quantile(values, 0.5);
}

/** By linear interpolation; `undefined` for an empty list. */
export function quantile(values, q) {
  if (values.length === 0) return undefined;
  const sorted = Float64Array.from(values).sort();
  const at = (sorted.length - 1) * q;
  const below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - below);
}

/** Median and spread of the rounds; `undefined` if there are none. */
export function summary(values) {
  const known = values.filter((value) => value !== undefined && !Number.isNaN(value));
  if (known.length === 0) return undefined;
  return { median: median(known), min: Math.min(...known), max: Math.max(...known) };
}
