/**
 * Text as models and tools write it: prose, code, paths and JSON, including characters that JSON
 * must escape.
 */

import { createRandom } from '../torture/random.mjs';

const SENTENCES = [
  'The handler returns before the write is flushed. ',
  'Latency rose from 12 ms to 340 ms at 14:05 UTC; only "eu-west" is affected.\n',
  'const { rows } = await pool.query("select id, name from users where id = $1", [id]);\n',
  '\tif (!path.startsWith("C:\\\\data\\\\")) throw new Error(`not allowed: ${path}`);\n',
  '{"level":"warn","msg":"retrying","attempt":3,"delay_ms":250.5,"ok":false}\n',
  'Das Café in der Bergstraße öffnet um acht, sagte Zoë — „pünktlich“. ',
  '日本語の説明もここにあります。 ',
  'All 1,204 tests pass ✅, two are slow 🐌. ',
  '    at Socket.onData (node:internal/streams/readable:512:9)\r\n',
  '<div class="row" data-id=\'7\'>&amp; more</div>\n',
];

/**
 * @param {number} seed
 * @returns {(bytes: number) => string} text of that many bytes as a JSON string, rounded up to a
 * whole sentence; each call returns another text
 */
export function createProse(seed) {
  const random = createRandom(seed);
  return (bytes) => {
    const chosen = [];
    for (let length = 0; length < bytes || chosen.length === 0;) {
      const sentence = random.pick(SENTENCES);
      chosen.push(sentence);
      length += Buffer.byteLength(JSON.stringify(sentence)) - 2;
    }
    return chosen.join('');
  };
}
