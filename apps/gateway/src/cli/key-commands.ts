/** `farthing keys …` */

import type { Command } from 'commander';
import { EXIT } from '../base/errors/failures.js';
import { invalidInput } from '../endpoints/operation-error.js';
import { clientAddress } from './gateway-settings.js';
import { addOperation } from './operation-command.js';
import { integer, run, withJson } from './output.js';
import type { OutputOptions } from './output.js';
import {
  printCreatedKey,
  printKey,
  printKeyLink,
  printKeys,
  printLink,
  printRotatedKey,
  printTopUp,
} from './print.js';

export function addKeys(keys: Command): void {
  addOperation(keys, 'create', 'createKey', printCreatedKey, {
    onTerminal: async (call) => ({ address: await clientAddress(call) }),
  });
  addOperation(keys, 'list', 'listKeys', printKeys);
  addOperation(keys, 'show <key_id>', 'showKey', printKey);
  withJson(
    keys
      .command('find')
      .description('find the key of a credential, read from the environment variable GATEWAY_KEY'),
  ).action((options: OutputOptions) =>
    // The credential is not an argument, because other users of the machine could read it.
    run(options, (call) => call('findKey', { api_key: credentialToFind() }), printKey),
  );
  addOperation(keys, 'update <key_id>', 'updateKey', printKey);
  addOperation(keys, 'rotate <key_id>', 'rotateKey', printRotatedKey);
  withJson(
    keys
      .command('link')
      .argument('<key_id>')
      .description('make a read-only link to the dashboard of a key; it cannot spend'),
  )
    .option('--days <n>', 'how many days the link is valid', integer, 30)
    .action((keyId: string, options: OutputOptions & { readonly days: number }) =>
      run(
        options,
        (call) => call('createLink', { key_id: keyId, expires_in_seconds: options.days * 86_400 }),
        printLink,
      ),
    );
  withJson(
    keys
      .command('key-link')
      .argument('<key_id>')
      .description('make a link that shows a new credential of a key, once'),
  )
    .option('--days <n>', 'how many days the link is valid', integer, 14)
    .option('--mail', 'also send it to the member whose key it is')
    .action((keyId: string, options: OutputOptions & { days: number; mail?: true }) =>
      run(
        options,
        async (call) => {
          const { days, mail = false } = options;
          const input = { key_id: keyId, expires_in_seconds: days * 86_400, mail };
          const link = await call('createKeyLink', input);
          if (link.mail_problem !== null) process.exitCode = EXIT.refused;
          return link;
        },
        printKeyLink,
      ),
    );
  addOperation(keys, 'top-up <key_id> <amount_usd>', 'topUp', printTopUp);
  addOperation(keys, 'suspend <key_id>', 'suspendKey', printKey);
  addOperation(keys, 'resume <key_id>', 'resumeKey', printKey);
  addOperation(keys, 'revoke <key_id>', 'revokeKey', printKey);
}

function credentialToFind(): string {
  const { GATEWAY_KEY: credential = '' } = process.env;
  if (credential === '') {
    const message = 'GATEWAY_KEY: set this environment variable to the credential to find';
    throw invalidInput(message);
  }
  return credential;
}
