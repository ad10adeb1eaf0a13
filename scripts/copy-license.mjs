/**
 * Runs in a package's folder before it is packed. pnpm takes the licence from the root of the
 * repository, npm only from the folder itself.
 */

import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

copyFileSync(fileURLToPath(new URL('../LICENSE', import.meta.url)), 'LICENSE');
