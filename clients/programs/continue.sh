# Continue: a prompt in the chat format.
set -e
node "$SNIPPET" continue.yaml > config.yaml
node_modules/.bin/cn --version
node_modules/.bin/cn --config config.yaml -p 'Say hello'
