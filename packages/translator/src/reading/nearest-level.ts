/**
 * The highest level that the model supports and that is not above the wanted one. If there is none,
 * its lowest level.
 *
 * @param order - All levels, the lowest first.
 */
export function nearest<Level extends string>(
  order: readonly Level[],
  wanted: Level,
  supported: readonly Level[],
): Level | undefined {
  const available = order.filter((level) => supported.includes(level));
  const upTo = order.indexOf(wanted);
  return available.findLast((level) => order.indexOf(level) <= upTo) ?? available[0];
}
