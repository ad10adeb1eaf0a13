/** The forms other than JSON in which a statement can be sent. */

import { z } from 'zod';
import type { TextFormat } from '../text-format.js';
import { statementCsv } from './statement-lines.js';
import { STATEMENT_PAGE_HEADERS, statementPage } from './statement-page.js';
import type { Statement } from './statement.js';

export const STATEMENT_FORMATS = {
  csv: { mediaType: 'text/csv', write: statementCsv },
  html: { mediaType: 'text/html', write: statementPage, headers: STATEMENT_PAGE_HEADERS },
} as const satisfies Readonly<Record<string, TextFormat<Statement>>>;

export const statementFormat = z.enum(['json', 'csv', 'html']).default('json');
