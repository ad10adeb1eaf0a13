import { OWN_STYLE } from './numbers.js';

/** A number with its noun, such as `1 model` or `3 models`. */
export function countText(count: number, noun: string): string {
  return `${OWN_STYLE.whole(count)} ${noun}${count === 1 ? '' : 's'}`;
}
