/** Where text is printed: how wide it may be, and whether it has colours. */

import { styleText } from 'node:util';
import { Command } from 'commander';

export interface Screen {
  /** Pipes and files get the same text whatever the terminal is: programs may read it. */
  readonly isTerminal: boolean;
  /** The columns of the terminal that tables must fit; `undefined`: nothing is left out. */
  readonly width: number | undefined;
  readonly hasColours: boolean;
}

export const PLAIN: Screen = { isTerminal: false, width: undefined, hasColours: false };

/**
 * Standard output, by the rules that commander has for help: it knows the width of a terminal, and
 * decides about colours by `NO_COLOR`, `FORCE_COLOR` and the terminal.
 */
export function screenOf({ wide = false }: { readonly wide?: boolean | undefined }): Screen {
  const commander = new Command().configureOutput();
  // Some terminals say that they are 0 columns wide.
  const width = commander.getOutHelpWidth?.() ?? 0;
  return {
    // Absent where the output is a pipe or a file.
    isTerminal: Boolean(process.stdout.isTTY),
    width: wide || width <= 0 ? undefined : width,
    hasColours: commander.getOutHasColors?.() ?? false,
  };
}

type Style = 'bold' | 'dim' | 'red' | 'cyan';

export function painted(style: Style, text: string, { hasColours }: Screen): string {
  return hasColours && text !== '' ? styleText(style, text, { validateStream: false }) : text;
}
