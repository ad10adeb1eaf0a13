/**
 * Hostile request bodies. Each shape is large in one way; some are not valid JSON. The function
 * that makes it takes the size in bytes, so each shape can be sent small, large, and as large as
 * the gateway accepts.
 */

const MODEL = 'claude-sonnet-4-6';
const HEAD = `"model":"${MODEL}","max_tokens":5`;
const HELLO = `"messages":[{"role":"user","content":"Hello"}]`;

/** Copies of `item`, separated by commas, up to the given size. */
function list(item, bytes) {
  if (typeof item === 'string') {
    return `${item},`.repeat(Math.max(0, Math.floor(bytes / (item.length + 1)) - 1)) + item;
  }
  const items = [];
  for (let length = 0, index = 0; length < bytes; index += 1) {
    const text = item(index);
    items.push(text);
    length += text.length + 1;
  }
  return items.join(',');
}

const fill = (text, bytes) => text.repeat(Math.max(1, Math.floor(bytes / text.length)));
const object = (members) => `{${HEAD},${members}}`;
const messages = (items) => object(`"messages":[${items}]`);
const content = (blocks) => messages(`{"role":"user","content":[${blocks}]}`);
const beside = (members) => object(`${HELLO},${members}`);
const nested = (open, close, depth) => open.repeat(depth) + close.repeat(depth);

/** Shapes for all formats. */
const COMMON = {
  'empty blocks': (n) => content(list('{}', n)),
  'empty messages': (n) => messages(list('{}', n)),
  'null messages': (n) => messages(list('null', n)),
  'many messages': (n) => messages(list('{"role":"user","content":"a"}', n)),
  'alternating messages': (n) =>
    messages(list((i) => `{"role":"${i % 2 ? 'assistant' : 'user'}","content":"a"}`, n)),
  'system messages': (n) => messages(list('{"role":"system","content":"a"}', n)),
  'many text blocks': (n) => content(list('{"type":"text","text":"a"}', n)),
  'many empty texts': (n) => content(list('{"type":"text","text":""}', n)),
  'one long text': (n) => content(`{"type":"text","text":"${fill('a', n)}"}`),
  'one long text of escapes': (n) => content(`{"type":"text","text":"${fill('\\u0041', n)}"}`),
  'one long text of surrogates': (n) =>
    content(`{"type":"text","text":"${fill('\\ud83d\\ude42', n)}"}`),
  'one long text beyond ASCII': (n) =>
    content(`{"type":"text","text":"${fill('é', Math.floor(n / 2))}"}`),
  'one long text with one emoji': (n) => content(`{"type":"text","text":"🙂${fill('a', n)}"}`),
  'many texts with one emoji each': (n) =>
    content(list(`{"type":"text","text":"🙂${'a'.repeat(30_000)}"}`, n)),
  backslashes: (n) => content(`{"type":"text","text":"${fill('\\\\', n)}"}`),
  quotes: (n) => content(`{"type":"text","text":"${fill('\\"', n)}"}`),
  'blanks between values': (n) =>
    `{${HEAD},"messages":[${fill(' ', n)}{"role":"user","content":"a"}]}`,
  'line breaks between values': (n) =>
    `{${HEAD},"messages":[${fill('\n', n)}{"role":"user","content":"a"}]}`,
  'arrays of nothing': (n) => beside(`"x":[${list('[]', n)}]`),
  'objects of nothing': (n) => beside(`"x":[${list('{}', n)}]`),
  zeros: (n) => beside(`"x":[${list('0', n)}]`),
  fractions: (n) => beside(`"x":[${list('0.1', n)}]`),
  'one long number': (n) => beside(`"x":${fill('1', n)}`),
  'a long number for max_tokens': (n) =>
    `{"model":"${MODEL}",${HELLO},"max_tokens":${fill('1', n)}}`,
  'a long fraction for temperature': (n) => beside(`"temperature":0.${fill('1', n)}`),
  'an array for model': (n) => `{"max_tokens":5,${HELLO},"model":[${list('{}', n)}]}`,
  'a long model': (n) => `{"max_tokens":5,${HELLO},"model":"${fill('a', n)}"}`,
  'an object for stream': (n) => beside(`"stream":{"a":[${list('{}', n)}]}`),
  'arrays for stop_sequences': (n) => beside(`"stop_sequences":[${list('[]', n)}]`),
  'many stop_sequences': (n) => beside(`"stop_sequences":[${list((i) => `"s${i}"`, n)}]`),
  'many members at the root': (n) => object(`${HELLO},${list((i) => `"k${i}":0`, n)}`),
  'one member again and again': (n) => object(`${HELLO},${list('"a":0', n)}`),
  'many members of metadata': (n) => beside(`"metadata":{${list((i) => `"k${i}":0`, n)}}`),
  'many members of a message': (n) =>
    messages(`{"role":"user","content":"a",${list((i) => `"k${i}":0`, n)}}`),
  'the type of a block again and again': (n) => content(`{"text":"a",${list('"type":""', n)}}`),
  'long names': (n) => beside(`"x":{${list((i) => `"${fill('k', 1000)}${i}":0`, n)}}`),
  'escaped names': (n) => beside(`"x":{${list((i) => `"\\u006b${i}":0`, n)}}`),
  'names of the prototype': (n) => content(list('{"__proto__":{"constructor":0}}', n)),
  'deep arrays': (n) => beside(`"x":${nested('[', ']', Math.floor(n / 2))}`),
  'deep objects that are never closed': (n) => beside(`"x":${fill('{"a":', n)}`),
  'many arrays of 190 levels': (n) => beside(`"x":[${list(nested('[', ']', 190), n)}]`),
  'blocks within blocks': (n) =>
    content(list(`${'{"type":"tool_result","content":['.repeat(60)}${']}'.repeat(60)}`, n)),
  unfinished: (n) => `{${HEAD},"messages":[${list('{"role":"user","content":"a"}', n)}`,
  'brackets only': (n) => fill('[', n),
  'quotes only': (n) => fill('"', n),
  'nothing but blanks': (n) => fill(' ', n),
  'broken UTF-8': (n) =>
    Buffer.concat([
      Buffer.from(`{${HEAD},"messages":[{"role":"user","content":"`),
      Buffer.alloc(n, 0xc0),
      Buffer.from('"}]}'),
    ]),
  'control characters': (n) => content(`{"type":"text","text":"${fill('\u0001', n)}"}`),
  'a byte order mark': (n) => `\ufeff${content(`{"type":"text","text":"${fill('a', n)}"}`)}`,
};

const NATIVE = {
  'many tools with a type': (n) => beside(`"tools":[${list('{"type":"a"}', n)}]`),
  'many known tools': (n) =>
    beside(`"tools":[${list('{"type":"bash_20250124","name":"bash"}', n)}]`),
  'one tool with many types': (n) => beside(`"tools":[{${list('"type":""', n)}}]`),
  'a thread of objects': (n) => beside(`"thread":[${list('{}', n)}]`),
  'a container of objects': (n) => beside(`"container":[${list('{}', n)}]`),
  'a tool_choice of objects': (n) => beside(`"tool_choice":{"type":"auto","x":[${list('{}', n)}]}`),
  'a long tool_choice': (n) => beside(`"tool_choice":"${fill('a', n)}"`),
  'a speed of arrays': (n) => beside(`"speed":[${list('[]', n)}]`),
  'a service_tier of arrays': (n) => beside(`"service_tier":[${list('[]', n)}]`),
  'a cache_control of arrays': (n) => beside(`"cache_control":{"a":[${list('[]', n)}]}`),
  'many cache points': (n) =>
    content(list('{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}', n)),
  'many system blocks': (n) => beside(`"system":[${list('{"type":"text","text":"a"}', n)}]`),
  'many images': (n) =>
    content(list('{"type":"image","source":{"type":"url","url":"https://a.test/"}}', n)),
  'many results': (n) =>
    content(list('{"type":"tool_result","tool_use_id":"t","content":[{"type":"text"}]}', n)),
  'many calls': (n) =>
    messages(
      `{"role":"assistant","content":[${list('{"type":"tool_use","id":"t","name":"n","input":{}}', n)}]}`,
    ),
  'a large tool input': (n) =>
    content(`{"type":"tool_use","id":"t","name":"n","input":{"a":[${list('{}', n)}]}}`),
  'a large schema': (n) =>
    beside(`"tools":[{"name":"n","input_schema":{"a":[${list('{"b":1}', n)}]}}]`),
  'tool additions': (n) =>
    content(
      list(
        '{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"n"}}}',
        n,
      ),
    ),
  'many sources': (n) => content(`{"type":"image",${list('"source":{"type":"base64"}', n)}}`),
  'documents of blocks': (n) =>
    content(
      `{"type":"document","source":{"type":"content","content":[${list('{"type":"text"}', n)}]}}`,
    ),
  'many edits': (n) =>
    beside(`"context_management":{"edits":[${list('{"type":"clear_thinking_20251015"}', n)}]}`),
  'an output schema': (n) =>
    beside(`"output_config":{"format":{"type":"json_schema","schema":{"a":[${list('{}', n)}]}}}`),
  'a member that nobody knows': (n) => beside(`"hologram":[${list('{"type":"a","b":{}}', n)}]`),
};

const CALL = '{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}';
const imageUrl = (url) => content(`{"type":"image_url","image_url":{"url":"${url}"}}`);
const call = (args) =>
  messages(
    `{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","type":"function",` +
      `"function":{"name":"f","arguments":"${args}"}}]},{"role":"tool","tool_call_id":"c","content":"a"}`,
  );

const CHAT = {
  'many tool_calls': (n) =>
    messages(`{"role":"user","content":"a"},{"role":"assistant","tool_calls":[${list(CALL, n)}]}`),
  'many pairs of calls and results': (n) =>
    messages(
      `{"role":"user","content":"a"},${list(`{"role":"assistant","tool_calls":[${CALL}]},{"role":"tool","tool_call_id":"c","content":"a"}`, n)}`,
    ),
  'many results of one call': (n) =>
    messages(
      `{"role":"user","content":"a"},{"role":"assistant","tool_calls":[${CALL}]},${list('{"role":"tool","tool_call_id":"c","content":"a"}', n)}`,
    ),
  'many results of no call': (n) =>
    messages(list('{"role":"tool","tool_call_id":"c","content":"a"}', n)),
  'a data URL of semicolons': (n) => imageUrl(`data:image/png${fill(';', n)}base64,iVBORw0KGgo=`),
  'a data URL of parameters': (n) =>
    imageUrl(`data:image/png${fill(';a=b', n)};base64,iVBORw0KGgo=`),
  'a data URL without an end': (n) => imageUrl(`data:${fill('a', n)}`),
  'a long data URL': (n) => imageUrl(`data:image/png;base64,iVBORw0K${fill('AAAA', n)}`),
  'a data URL that is not base64': (n) => imageUrl(`data:image/png;base64,${fill('%', n)}`),
  'a data URL of escapes': (n) => imageUrl(`data:image/png;base64,${fill('%41', n)}`),
  'a data URL of blanks': (n) => imageUrl(`data:image/png;base64,${fill('A ', n)}`),
  'a text data URL': (n) => imageUrl(`data:text/plain,${fill('%e4', n)}`),
  'a long URL': (n) => imageUrl(`https://a.test/${fill('a', n)}`),
  'many image URLs': (n) =>
    content(list('{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0K"}}', n)),
  'many files': (n) =>
    content(list('{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0="}}', n)),
  'arguments of blanks': (n) => call(fill(' ', n)),
  'arguments of brackets': (n) => call(fill('[', n)),
  'arguments of escaped quotes': (n) => call(fill('\\\\\\"', n)),
  'arguments of surrogates': (n) => call(fill('\\ud800', n)),
  'arguments with escapes of surrogates': (n) => call(`{\\"a\\":\\"${fill('\\\\ud800', n)}\\"}`),
  'arguments with one emoji': (n) => call(`🙂${fill('a', n)}`),
  'long arguments': (n) => call(`{\\"a\\":\\"${fill('a', n)}\\"}`),
  'arguments of many members': (n) => call(`{${list('\\"a\\":0', n)}}`),
  'many tools': (n) =>
    beside(`"tools":[${list((i) => `{"type":"function","function":{"name":"f${i}"}}`, n)}]`),
  'tools of one name': (n) =>
    beside(`"tools":[${list('{"type":"function","function":{"name":"f"}}', n)}]`),
  'a tool with a large schema': (n) =>
    beside(
      `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{${list((i) => `"p${i}":{}`, n)}}}}}]`,
    ),
  'many functions': (n) => beside(`"functions":[${list((i) => `{"name":"f${i}"}`, n)}]`),
  'many stops': (n) => beside(`"stop":[${list('"a"', n)}]`),
  'blank stops': (n) => beside(`"stop":[${list('" "', n)}]`),
  'one long stop': (n) => beside(`"stop":"${fill(' ', n)}"`),
  'many choices': (n) =>
    beside(`"tool_choice":{"type":"allowed_tools","tools":[${list('{"name":"f"}', n)}]}`),
  'a long role': (n) => messages(`{"role":"${fill('a', n)}","content":"a"}`),
  'a long name': (n) =>
    messages(`{"role":"user","name":"${fill('ä', Math.floor(n / 2))}","content":"a"}`),
  'long ids': (n) => messages(`{"role":"tool","tool_call_id":"${fill('a ', n)}","content":"a"}`),
  'many refusals': (n) => messages(list('{"role":"assistant","refusal":"a"}', n)),
  'a large response_format': (n) =>
    beside(`"response_format":{"type":"json_schema","json_schema":{"a":[${list('{}', n)}]}}`),
  'many annotations': (n) =>
    messages(`{"role":"assistant","content":"a","annotations":[${list('{}', n)}]}`),
  'many unread members': (n) =>
    messages(list('{"role":"user","content":"a","x":1,"y":2,"z":3}', n)),
};

const input = (items) => object(`"input":[${items}]`);
const asked = (members) => object(`"input":"Hello",${members}`);

/** Shapes of the Responses API. */
const RESPONSES = {
  'many calls': (n) =>
    input(list((i) => `{"type":"function_call","call_id":"c${i}","name":"f","arguments":"{}"}`, n)),
  'calls of one id': (n) =>
    input(list('{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}', n)),
  'outputs of one call': (n) =>
    input(
      `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},` +
        list('{"type":"function_call_output","call_id":"c","output":"a"}', n),
    ),
  'one long input of a custom tool': (n) =>
    input(
      `{"type":"custom_tool_call","call_id":"c","name":"f","input":"${fill('\\"', n)}"},` +
        '{"type":"custom_tool_call_output","call_id":"c","output":"a"}',
    ),
  'thinking that nothing follows': (n) =>
    input(
      list('{"type":"reasoning","encrypted_content":"{\\"type\\":\\"redacted_thinking\\"}"}', n),
    ),
  'one long encrypted_content': (n) =>
    input(`{"type":"reasoning","encrypted_content":"${fill('[', n)}"}`),
  'many tools in a namespace': (n) =>
    asked(
      `"tools":[{"type":"namespace","name":"n","tools":[${list((i) => `{"type":"function","name":"f${i}"}`, n)}]}]`,
    ),
  'many added tools': (n) =>
    input(list((i) => `{"type":"additional_tools","tools":[{"type":"custom","name":"f${i}"}]}`, n)),
  'a large schema': (n) =>
    asked(
      `"text":{"format":{"type":"json_schema","name":"s","schema":{"type":"object","properties":{${list((i) => `"p${i}":{"type":"string"}`, n)}}}}}`,
    ),
  'many includes': (n) => asked(`"include":[${list('"a"', n)}]`),
  'much metadata': (n) => asked(`"metadata":{${list((i) => `"k${i}":"v"`, n)}}`),
};

/** The same shape with `input` in place of `messages`. */
function inResponses(make) {
  return (bytes) => {
    const body = make(bytes);
    const renamed = (text) => text.replace('"messages":', '"input":');
    return typeof body === 'string'
      ? renamed(body)
      : Buffer.from(renamed(body.toString('latin1')), 'latin1');
  };
}

/**
 * @typedef {object} Shape
 * @property {string} name
 * @property {string} format - `messages`, `chat` or `responses`
 * @property {(bytes: number) => string | Buffer} make
 */

/** @type {readonly Shape[]} */
export const SHAPES = [
  ...Object.entries({ ...COMMON, ...NATIVE }).map(([name, make]) => ({
    name,
    format: 'messages',
    make,
  })),
  ...Object.entries({ ...COMMON, ...CHAT }).map(([name, make]) => ({ name, format: 'chat', make })),
  ...Object.entries(COMMON).map(([name, make]) => ({
    name,
    format: 'responses',
    make: inResponses(make),
  })),
  ...Object.entries(RESPONSES).map(([name, make]) => ({ name, format: 'responses', make })),
];
