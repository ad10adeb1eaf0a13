# cline: a file written by its tool, in the chat format.
set -e
rm -rf work && mkdir work && cd work
cline="../node_modules/.bin/cline"
$cline --version
$cline auth -p openai -k "$OPENAI_API_KEY" -m claude-opus-5 -b "$OPENAI_BASE_URL"
$cline --yolo "Say hello"
