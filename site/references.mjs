/** Writes a page for each entry of each library, from the docstrings of what it exports. */

import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Application } from 'typedoc';

const [, , root, out] = process.argv;
const packages = join(root, 'packages');
const entryPoints = readdirSync(packages).flatMap((name) => {
  const dir = join(packages, name);
  const { exports } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
  return Object.keys(exports).map((entry) => join(dir, 'src', entry, 'index.ts'));
});

/** Members that are shown in a table. */
const TABLES = [
  'parameters',
  'interfaceProperties',
  'classProperties',
  'typeAliasProperties',
  'propertyMembers',
];

const app = await Application.bootstrapWithPlugins({
  plugin: ['typedoc-plugin-markdown'],
  entryPoints,
  tsconfig: join(root, 'site/tsconfig.json'),
  // `npm run types` checks them.
  skipErrorChecking: true,
  out,
  router: 'module',
  readme: 'none',
  disableSources: true,
  excludeInternal: true,
  // Members that errors inherit.
  excludeExternals: true,
  ...Object.fromEntries(TABLES.map((members) => [`${members}Format`, 'table'])),
  hideBreadcrumbs: true,
  hidePageHeader: true,
  entryFileName: 'index',
  // Vue reads pages as templates, in which `<T>` would be an element.
  useHTMLEncodedBrackets: true,
  sanitizeComments: true,
  // A link in a docstring that leads nowhere is a warning, with which this ends.
  validation: { invalidLink: true, notExported: false, notDocumented: false },
});
const project = await app.convert();
if (project === undefined) throw new Error('the docstrings cannot be read');
for (const module of project.children ?? []) {
  module.name = module.name.replace(/\/src\b/, '');
}
app.validate(project);
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1);
await app.generateOutputs(project);
process.stdout.write(`${String(entryPoints.length)} entries in ${relative(root, out)}\n`);
