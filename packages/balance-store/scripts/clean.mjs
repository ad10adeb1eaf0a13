// Removes what an earlier build made. tsup would do so once for each of its two configurations, and
// the second would remove what the first has made.

import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

rmSync(join(dirname(import.meta.dirname), 'dist'), { recursive: true, force: true });
