/**
 * Finds ports for servers whose port must be known before they start. CommonJS, so that scripts and
 * Jest's tests can both load it.
 */

const { once } = require('node:events');
const { createServer } = require('node:net');

/**
 * Below the ports that systems give to outgoing connections (from 32768 on Linux). A connection of
 * another program could take such a port before its server starts, or while its server restarts.
 */
const FIRST = 11_000;
/** Also leaves room for the bus of a Redis cluster, whose port is 10,000 higher. */
const COUNT = 10_000;

// Processes begin at different places, so that two of them rarely try the same port at once.
let next = Math.floor(Math.random() * COUNT);

/**
 * @returns {Promise<number>} a port of 127.0.0.1 on which nothing listens; another one in each call
 */
exports.freePort = async function freePort() {
  for (let tries = 0; tries < COUNT; tries += 1) {
    const port = FIRST + next;
    next = (next + 1) % COUNT;
    const probe = createServer();
    try {
      await once(probe.listen(port, '127.0.0.1'), 'listening');
    } catch (error) {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') continue;
      throw error;
    }
    probe.close();
    await once(probe, 'close');
    return port;
  }
  throw new Error(`all ports from ${FIRST} to ${FIRST + COUNT - 1} are in use`);
};
