/** Checks whether a version of Node is in the range that `engines` of package.json states. */

/**
 * Understands only the comparators in this range, joined by `||`: `^22.19.0` is 22.19.0 or a later
 * release of Node 22. Majors are named one by one because the gateway sets flags of V8, which have
 * to be tried with each. The package `semver` understands any range, but it would have to be loaded
 * before it is known whether this Node is supported.
 *
 * @throws {Error} when the range has another form
 */
export function isSupportedNode(version: string, range: string): boolean {
  return range.split(' || ').some((comparator) => {
    const [, lowest] = /^\^(\d+\.\d+\.\d+)$/.exec(comparator) ?? [];
    if (lowest === undefined) throw new Error(`engines.node: cannot read ${comparator}`);
    const isSameMajor = parseInt(version, 10) === parseInt(lowest, 10);
    return isSameMajor && compareVersions(version, lowest) >= 0;
  });
}

/** Negative if `version` is older than `other`, positive if it is newer. */
function compareVersions(version: string, other: string): number {
  const parts = version.split('.');
  const differences = other.split('.').map((part, at) => parseInt(parts[at]!, 10) - Number(part));
  return differences.find((difference) => difference !== 0) ?? 0;
}
