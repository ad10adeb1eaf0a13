# opencode: the native format, and the chat format with the same configuration.
set -e
node "$SNIPPET" opencode.json > opencode.json
node_modules/.bin/opencode --version
node_modules/.bin/opencode run -m gateway/claude-opus-5 'Say hello'
sed -i 's/sdk\/anthropic/sdk\/openai-compatible/' opencode.json
node_modules/.bin/opencode run -m gateway/claude-opus-5 'Say hello'
