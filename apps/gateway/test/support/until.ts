/**
 * Resolves when a condition holds that nothing announces. The test's own limit ends a wait in vain.
 */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 5));
}
