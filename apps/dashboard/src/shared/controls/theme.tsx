/** Whether the page is dark or light. The browser remembers what a person chose. */

import { signal } from '@preact/signals';
import { keep, readKept } from '../api/browser-storage.js';
import { optionOf } from './parts.js';

const NAME = 'theme';
const THEMES = [
  ['auto', '◐ Auto'],
  ['light', '○ Light'],
  ['dark', '● Dark'],
] as const;
type Theme = (typeof THEMES)[number][0];

const theme = signal<Theme>(optionOf(THEMES, readKept('localStorage', NAME)));
show(theme.peek());

/** Without a choice, the style sheet follows the system. */
function show(of: Theme): void {
  if (of === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = of;
}

/** Each press chooses the next theme. */
export function ThemeSwitch() {
  const index = THEMES.findIndex(([name]) => name === theme.value);
  const [next] = THEMES[(index + 1) % THEMES.length] ?? THEMES[0];
  const label = THEMES[index]?.[1] ?? '';
  return (
    <button
      type="button"
      class="small quiet-button"
      aria-label={`Theme: ${theme.value}`}
      title={`Theme: ${theme.value}. Press for ${next}.`}
      onClick={() => {
        theme.value = next;
        show(next);
        keep('localStorage', NAME, next === 'auto' ? undefined : next);
      }}
    >
      <span aria-hidden="true">
        {label.slice(0, 1)}
        <span class="wide-only">{label.slice(1)}</span>
      </span>
    </button>
  );
}
