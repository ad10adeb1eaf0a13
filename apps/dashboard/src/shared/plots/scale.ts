/** The axis of a plot's values. */

/** How many steps the axis of values has at most. */
const MAX_STEPS = 5n;

/** Round values: steps of 1, 2 or 5 times a power of ten, up to the first that is high enough. */
export function scaleOf(highest: bigint): { readonly step: bigint; readonly top: bigint } {
  if (highest <= 0n) return { step: 1n, top: 0n };
  const steps = (step: bigint) => (highest + step - 1n) / step;
  for (let power = 10n ** BigInt(Math.max(0, highest.toString().length - 2)); ; power *= 10n) {
    const step = [1n, 2n, 5n].map((factor) => factor * power).find((s) => steps(s) <= MAX_STEPS);
    if (step !== undefined) return { step, top: steps(step) * step };
  }
}
