/** Asks a gateway in the native format. */

/**
 * @param {string} url - of the gateway
 * @param {string} key
 * @param {string} [model]
 */
export function askNatively(url, key, model = 'claude-opus-5') {
  return fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: {
      'x-api-key': key,
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      model,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hello' }],
    }),
  });
}

/**
 * Asks one that `npm start` has just started, with the demo key that it printed.
 *
 * @param {number} port
 * @param {string} printed - what `npm start` has printed
 * @returns {Promise<void>} when it has answered with a message
 * @throws if it answers otherwise
 */
export async function ask(port, printed) {
  const [, key = ''] = /Demo key: +(\S+)/.exec(printed) ?? [];
  const response = await askNatively(`http://127.0.0.1:${port}`, key);
  const message = await response.json();
  if (message.type !== 'message') throw new Error(`no message: ${JSON.stringify(message)}`);
}

/** What `npm start` prints when it serves. */
export const SERVES = / Ask: +curl/;
