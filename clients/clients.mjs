/**
 * The clients, with the commands that install and run each. Most programs print the usage of each
 * request. Those with `requests` do not, so only the number of their requests is checked.
 *
 * @type {readonly {
 *   name: string;
 *   install: readonly string[];
 *   command: string;
 *   requests?: number;
 * }[]}
 */
export const CLIENTS = [
  npm('openai-js', ['openai', 'zod']),
  { ...npm('openai-js', ['openai@6', 'zod']), name: 'openai-js-6' },
  npm('vercel-ai', [
    'ai',
    '@ai-sdk/openai',
    '@ai-sdk/openai-compatible',
    '@ai-sdk/anthropic',
    'zod',
  ]),
  {
    ...npm('vercel-ai', [
      'ai@6',
      '@ai-sdk/openai@3',
      '@ai-sdk/openai-compatible@2',
      '@ai-sdk/anthropic@3',
      'zod',
    ]),
    name: 'vercel-ai-6',
  },
  withSnippet(npm('mastra', ['@mastra/core', '@ai-sdk/openai', 'zod']), 'mastra.mjs'),
  npm('langchain-js', ['@langchain/core', '@langchain/openai', '@langchain/anthropic', 'zod']),
  pip('openai-python', ['openai']),
  pip('notebook', ['nbclient', 'nbformat', 'ipykernel', 'anthropic', 'openai']),
  pip('langchain-python', ['langchain-openai', 'langchain-anthropic']),
  withSnippet(npm('openai-agents-js', ['@openai/agents', 'zod']), 'openai-agents.mjs'),
  pip('openai-agents', ['openai-agents']),
  {
    name: 'openai-go',
    install: ['cp "$PROGRAMS"/go/* .', 'go get github.com/openai/openai-go/v3@latest'],
    command: 'go run .',
  },
  {
    name: 'llm',
    install: ['python3 -m venv py', 'py/bin/pip install -q llm'],
    command: 'bash "$PROGRAMS/llm.sh"',
    requests: 4,
  },
  npm('claude-code', ['@anthropic-ai/claude-code']),
  npm('codex', ['@openai/codex']),
  npmCommand('opencode', 'opencode-ai', 2),
  {
    name: 'aider',
    install: ['python3 -m venv py', 'py/bin/pip install -q aider-chat'],
    command: 'bash "$PROGRAMS/aider.sh"',
    requests: 2,
  },
  npm('claude-agent-sdk', ['@anthropic-ai/claude-agent-sdk', 'zod']),
  pip('pydantic-ai', ['pydantic-ai-slim[openai,anthropic]']),
  pip('litellm-python', ['litellm']),
  npmCommand('qwen-code', '@qwen-code/qwen-code', 2),
  npmCommand('cline', 'cline', 1),
  npmCommand('continue', '@continuedev/cli', 1),
];

function npm(name, packages) {
  return {
    name,
    install: ['npm init -y', `npm install --no-audit --no-fund ${packages.join(' ')}`],
    command: `cp "$PROGRAMS/${name}.mjs" program.mjs && node program.mjs`,
  };
}

/** The program imports a block of docs/clients.md. */
function withSnippet(client, snippet) {
  return { ...client, command: `node "$SNIPPET" ${snippet} > ${snippet} && ${client.command}` };
}

/** A program of the command line, which prints no usage. */
function npmCommand(name, program, requests) {
  const { install } = npm(name, [program]);
  return { name, install, command: `bash "$PROGRAMS/${name}.sh"`, requests };
}

function pip(name, packages) {
  return {
    name,
    install: ['python3 -m venv py', `py/bin/pip install -q ${packages.join(' ')}`],
    command: `py/bin/python "$PROGRAMS/${name}.py"`,
  };
}
