/** Reads the types of an SDK, as the TypeScript compiler sees them. */

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import ts from 'typescript';
import { root } from './setup.mjs';

/** The folder of a package, as the package in the folder `from` finds it. */
export function packageFolder(name, from) {
  const require = createRequire(resolve(root, from, 'package.json'));
  let folder = dirname(require.resolve(name));
  while (!existsSync(join(folder, 'package.json')) || isInner(folder)) folder = dirname(folder);
  return folder;
}

/** Whether this folder of a package has a manifest that only says which kind of modules it has. */
function isInner(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).name === undefined;
}

/**
 * @param {readonly string[]} files - declaration files
 * @returns readers of the types that these files export
 */
export function openTypes(files) {
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    target: ts.ScriptTarget.ES2022,
    types: [],
  });
  const checker = program.getTypeChecker();

  function exported(file, name) {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    const symbol =
      module && checker.getExportsOfModule(module).find((candidate) => candidate.name === name);
    if (symbol === undefined) throw new Error(`${file} does not export ${name}`);
    return checker.getDeclaredTypeOfSymbol(symbol);
  }

  /** The members of a union; in place of an array, the members of its item type. */
  function itemsOf(type, isItem = false) {
    return unionOf(type).flatMap((part) =>
      checker.isArrayType(part)
        ? itemsOf(checker.getTypeArguments(part)[0], true)
        : [{ part, isItem }],
    );
  }

  function partsOf(type) {
    return itemsOf(type).map(({ part }) => part);
  }

  /** The type of a member, wherever in a union it is. */
  function memberOf(type, name) {
    return partsOf(type).flatMap((part) => {
      const member = checker.getPropertyOfType(part, name);
      return member === undefined ? [] : [checker.getTypeOfSymbol(member)];
    });
  }

  /** The string literals of a type. */
  function literalsOf(type) {
    return unionOf(type)
      .filter((part) => part.isStringLiteral())
      .map((part) => part.value);
  }

  /** The string literals that the member named `type` of this type may have. */
  function typesOf(type) {
    return memberOf(type, 'type').flatMap(literalsOf);
  }

  /** The names of the members of all parts of a type. */
  function membersOf(type) {
    return partsOf(type)
      .filter((part) => part.flags & ts.TypeFlags.Object)
      .flatMap((part) => checker.getPropertiesOfType(part));
  }

  /** Whether the SDK sends this member of a request as a header. */
  function isHeader(member) {
    return ts
      .displayPartsToString(member.getDocumentationComment(checker))
      .startsWith('Header param:');
  }

  return {
    checker,
    exported,
    itemsOf,
    partsOf,
    memberOf,
    literalsOf,
    typesOf,
    membersOf,
    isHeader,
  };
}

function unionOf(type) {
  return type.isUnion() ? type.types.flatMap(unionOf) : [type];
}
