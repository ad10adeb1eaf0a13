// Removes the output of an earlier build. If tsup did so, it would do it once for each of its two
// configurations, and the second would remove the output of the first.

import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

rmSync(join(dirname(import.meta.dirname), 'dist'), { recursive: true, force: true });
