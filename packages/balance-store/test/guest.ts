/**
 * Changes the embedded ledger in the directory of its argument, as the command line does beside a
 * gateway. Receives commands as messages, and answers each after it has committed.
 */

import { openEmbeddedStore } from '../src/embedded/index.js';
import { perform } from './guest-commands.js';
import type { GuestCommand } from './guest-commands.js';

const [dataDir = ''] = process.argv.slice(2);
const store = await openEmbeddedStore({ dataDir, pepper: 'pepper of the tests', access: 'guest' });

process.on('message', (command: GuestCommand) => {
  void perform(store, command).then(() => process.send?.('done'));
});
process.once('disconnect', () => {
  void store.close();
});
process.send?.('ready');
