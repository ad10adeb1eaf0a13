/**
 * What of an OpenAPI document would no longer work for a client that was written for an earlier
 * one. CommonJS, so that scripts and Jest's tests can both load it.
 *
 * One rule decides: everything that a client may send must still be taken, and everything that it
 * may receive must have been announced. A new member of a response is no break, because clients are
 * told to ignore what they do not know. A new value of an enumeration is one.
 */

/** Keywords that say nothing about which values are valid. */
const SILENT = new Set(['$schema', 'id', 'title', 'description', 'examples', 'default', '$ref']);
/** Keywords that `Comparison.subset` compares. Any other would be passed over, so it is refused. */
const COMPARED = new Set([
  'type',
  'enum',
  'const',
  'anyOf',
  'oneOf',
  'allOf',
  'pattern',
  'format',
  'items',
  'properties',
  'required',
  'additionalProperties',
  'propertyNames',
  'minimum',
  'exclusiveMinimum',
  'minLength',
  'minItems',
  'maximum',
  'exclusiveMaximum',
  'maxLength',
  'maxItems',
]);
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/**
 * @param {object} released - The earlier document.
 * @param {object} built - The new one.
 * @param {string} [prefix] - Only paths that begin with this are compared.
 * @returns {string[]} each incompatible change, with its place
 */
exports.incompatibleChanges = function incompatibleChanges(released, built, prefix = '/v1') {
  const problems = [];
  for (const [path, earlier] of Object.entries(released.paths)) {
    if (!path.startsWith(prefix)) continue;
    for (const method of METHODS.filter((each) => each in earlier)) {
      const place = `${method.toUpperCase()} ${path}`;
      const later = built.paths[path]?.[method];
      if (later === undefined) problems.push(`${place}: is gone`);
      else problems.push(...changesOf(earlier[method], later).map((each) => `${place}: ${each}`));
    }
  }
  return problems;

  function changesOf(earlier, later) {
    return [
      ...securityChanges(earlier.security, later.security),
      ...parameterChanges(earlier.parameters ?? [], later.parameters ?? []),
      ...bodyChanges(earlier.requestBody, later.requestBody),
      ...Object.entries(earlier.responses).flatMap(([status, response]) =>
        responseChanges(
          status,
          resolved(response, released),
          resolved(later.responses[status], built),
        ),
      ),
    ];
  }

  /** Each credential that was enough must still be enough. An empty list needs none. */
  function securityChanges(earlier = [], later = []) {
    const choices = (list) => (list.length === 0 ? [{}] : list).map((each) => Object.keys(each));
    return choices(earlier)
      .filter((had) => !choices(later).some((needs) => needs.every((name) => had.includes(name))))
      .map((had) => `the credential ${had.join(' with ') || 'none'} is no longer enough`);
  }

  function parameterChanges(earlier, later) {
    const idOf = (each) =>
      `${each.in} ${each.in === 'header' ? each.name.toLowerCase() : each.name}`;
    const had = new Map(earlier.map((each) => [idOf(each), each]));
    const has = new Map(later.map((each) => [idOf(each), each]));
    return [
      ...[...had.keys()].filter((id) => !has.has(id)).map((id) => `${id}: is no longer taken`),
      ...[...has].flatMap(([id, { required, schema }]) => {
        const before = had.get(id);
        return [
          ...(required === true && before?.required !== true ? [`${id}: is newly required`] : []),
          ...(before === undefined ? [] : sent(before.schema, schema, id)),
        ];
      }),
    ];
  }

  function bodyChanges(earlier, later) {
    if (later === undefined) return earlier === undefined ? [] : ['body: is no longer taken'];
    const isNew = later.required === true && earlier?.required !== true;
    return [
      ...(isNew ? ['body: is newly required'] : []),
      ...Object.entries(earlier?.content ?? {}).flatMap(([type, { schema }]) =>
        type in later.content
          ? sent(schema, later.content[type].schema, 'body')
          : [`body: ${type} is no longer taken`],
      ),
    ];
  }

  function responseChanges(status, earlier, later) {
    if (later === undefined) return [`response ${status}: is gone`];
    const place = `response ${status}`;
    return [
      ...Object.entries(earlier.headers ?? {})
        .filter(([name, { required }]) => required && later.headers?.[name]?.required !== true)
        .map(([name]) => `${place}: the header ${name} may be missing`),
      ...Object.entries(earlier.content ?? {}).flatMap(([type, { schema }]) =>
        type in (later.content ?? {})
          ? received(schema, later.content[type].schema, place)
          : [`${place}: ${type} is gone`],
      ),
    ];
  }

  function sent(earlier, later, place) {
    return subset({ of: earlier, from: released }, { of: later, from: built }, { place });
  }

  function received(earlier, later, place) {
    const isReceived = true;
    return subset(
      { of: later, from: built },
      { of: earlier, from: released },
      { place, isReceived },
    );
  }
};

/** @returns the object that a `$ref` names, or the object itself */
function resolved(object, document) {
  if (object?.$ref === undefined) return object;
  const [, ...steps] = object.$ref.split('/');
  return steps.reduce((found, step) => found[step], document);
}

/**
 * Whether each value of one schema is a value of another: `{ of, from }` is a schema and its
 * document. With `isReceived`, values may have new members, but must have all that were announced.
 *
 * @param {{ of: any, from: object }} inner
 * @param {{ of: any, from: object }} outer
 * @param {{ place: string, isReceived?: boolean, seen?: [object, object][] }} where - `seen`: what
 * is being compared.
 * @returns {string[]} the reasons why not
 */
function subset(inner, outer, { place, isReceived = false, seen = [] }) {
  const change = isReceived ? 'is new' : 'is no longer taken';
  const small = resolved(inner.of, inner.from);
  const large = resolved(outer.of, outer.from);
  for (const schema of [small, large]) {
    const unknown = Object.keys(schema).find((word) => !SILENT.has(word) && !COMPARED.has(word));
    if (unknown !== undefined) throw new Error(`${place}: cannot compare the keyword ${unknown}`);
  }
  // A schema may contain itself. What is being compared need not be compared again.
  if (seen.some(([left, right]) => left === small && right === large)) return [];
  const within = (left, right, name, also = {}) =>
    subset(
      { of: left, from: inner.from },
      { of: right, from: outer.from },
      { place: `${place}${name}`, isReceived, seen: [...seen, [small, large]], ...also },
    );

  const choices = small.anyOf ?? small.oneOf;
  if (choices !== undefined) return choices.flatMap((each) => within(each, large, ''));
  const others = large.anyOf ?? large.oneOf;
  if (others !== undefined) {
    const tries = others.map((each) => within(small, each, ''));
    if (tries.some((problems) => problems.length === 0)) return [];
    // The problems with the one that is meant, if it can be known.
    return tries.length === 1 ? tries[0] : [`${place}: ${nameOf(small)} ${change}`];
  }
  if (large.allOf !== undefined) {
    const { allOf, ...rest } = large;
    return [rest, ...allOf].flatMap((each) => within(small, each, ''));
  }
  if (small.allOf !== undefined) {
    const { allOf, ...rest } = small;
    const tries = [{}, ...allOf].map((each) => within({ ...rest, ...each }, large, ''));
    return tries.find((problems) => problems.length === 0) ?? tries[0];
  }
  const otherTypes = typeProblems();
  // What else is said about a value of another type would only repeat it.
  if (otherTypes.length > 0) return otherTypes;
  return [
    ...valueProblems(),
    ...boundProblems(),
    ...(small.properties === undefined && large.properties === undefined ? [] : memberProblems()),
    ...(large.items === undefined ? [] : within(small.items ?? {}, large.items, '[]')),
    ...(typeof large.additionalProperties === 'object' &&
    typeof small.additionalProperties === 'object'
      ? within(small.additionalProperties, large.additionalProperties, '.*')
      : []),
    ...(large.propertyNames === undefined
      ? []
      : within(small.propertyNames ?? {}, large.propertyNames, ' (names)')),
  ];

  function typeProblems() {
    if (large.type === undefined) return [];
    if (small.type === undefined && valuesOf(small) === undefined) {
      return [`${place}: the type has changed`];
    }
    const allowed = typesOf(large);
    if (allowed.includes('number')) allowed.push('integer');
    return typesOf(small)
      .filter((type) => !allowed.includes(type))
      .map((type) => `${place}: the type ${type} ${change}`);
  }

  function valueProblems() {
    const values = valuesOf(small);
    const allowed = valuesOf(large);
    const missing =
      allowed === undefined ? [] : (values ?? ['other']).filter((each) => !allowed.includes(each));
    return [
      ...missing.map((each) => `${place}: ${JSON.stringify(each)} ${change}`),
      ...['pattern', 'format']
        .filter((word) => large[word] !== undefined && large[word] !== small[word])
        .filter(() => values === undefined)
        .map((word) => `${place}: the ${word} has changed`),
    ];
  }

  function boundProblems() {
    if (valuesOf(small) !== undefined) return [];
    const isWider = (word, isBeyond) =>
      large[word] !== undefined &&
      (small[word] === undefined || isBeyond(small[word], large[word]));
    const lower = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems'];
    const upper = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems'];
    return [
      ...lower.filter((word) => isWider(word, (left, right) => left < right)),
      ...upper.filter((word) => isWider(word, (left, right) => left > right)),
    ].map((word) => `${place}: the ${word} has changed`);
  }

  function memberProblems() {
    const has = small.properties ?? {};
    const knows = large.properties ?? {};
    const isClosed = large.additionalProperties === false && !isReceived;
    const needs = (large.required ?? []).filter((name) => !(small.required ?? []).includes(name));
    return [
      ...(isClosed && small.additionalProperties !== false
        ? [`${place}: other members are no longer taken`]
        : []),
      ...needs.map(
        (name) => `${place}.${name}: ${isReceived ? 'may be missing' : 'is newly required'}`,
      ),
      ...(isReceived ? Object.keys(knows) : [])
        .filter((name) => !(name in has) && !needs.includes(name))
        .map((name) => `${place}.${name}: is gone`),
      ...Object.keys(has).flatMap((name) => {
        if (name in knows) return within(has[name], knows[name], `.${name}`);
        return isClosed ? [`${place}.${name}: is no longer taken`] : [];
      }),
    ];
  }
}

function valuesOf(schema) {
  return schema.const === undefined ? schema.enum : [schema.const];
}

function typesOf({ type }) {
  return type === undefined ? [] : [type].flat();
}

function nameOf(schema) {
  return JSON.stringify(valuesOf(schema)) ?? `the type ${typesOf(schema).join(' or ') || 'any'}`;
}
