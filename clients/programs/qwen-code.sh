# qwen-code: two prompts in the chat format, the second one continues the first.
set -e
rm -rf work && mkdir work && cd work
qwen="../node_modules/.bin/qwen --auth-type openai -m claude-opus-5"
$qwen --version
$qwen -p 'Say hello'
$qwen --continue -p 'And again'
