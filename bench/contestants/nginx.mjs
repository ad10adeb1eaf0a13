/** nginx with one worker, with the usual settings of a reverse proxy in front of a model API. */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../scripts/free-port.cjs';
import { startServer } from '../server.mjs';

const COMMAND = 'nginx';

export default {
  title: 'nginx',
  does: 'forwards bytes; writes an access log',
  phases: ['busy', 'open'],
  translates: false,
  fidelity: 'bytes',
  missing: () =>
    spawnSync(COMMAND, ['-v']).error === undefined ? undefined : 'nginx is not installed',
  version: () => /nginx\/(\S+)/.exec(versionText())?.[1],
  async start({ upstreamUrl, scratch }) {
    const port = await freePort();
    const dir = join(scratch, 'nginx');
    mkdirSync(dir, { recursive: true });
    const config = join(dir, 'nginx.conf');
    writeFileSync(config, configOf({ dir, port, upstream: new URL(upstreamUrl).host }));
    const args = ['-c', config, '-p', dir, '-e', join(dir, 'error.log')];
    const server = await startServer({ name: COMMAND, command: COMMAND, args, port, scratch });
    return { ...server, port, headers: [{}] };
  },
};

function versionText() {
  return execFileSync('sh', ['-c', `${COMMAND} -v 2>&1`], { encoding: 'utf8' });
}

/**
 * Streams must not be buffered. A request is read completely before it is forwarded, as with the
 * other contestants.
 */
function configOf({ dir, port, upstream }) {
  return `
daemon off;
worker_processes 1;
pid ${dir}/pid;
events { worker_connections 20000; }
http {
  access_log ${dir}/access.log;
  client_body_temp_path ${dir}/body;
  proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi;
  scgi_temp_path ${dir}/scgi;
  client_max_body_size 32m;
  client_body_buffer_size 2m;
  keepalive_requests 10000000;
  upstream model { server ${upstream}; keepalive 256; keepalive_requests 10000000; }
  server {
    listen 127.0.0.1:${port} backlog=8192;
    location / {
      proxy_pass http://model;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header x-api-key benchmark;
      proxy_buffering off;
    }
  }
}
`;
}
