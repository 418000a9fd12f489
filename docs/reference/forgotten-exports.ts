/**
 * Fails if a declaration of an entry point refers to a type that the entry point does not export. Declarations from
 * outside the entry point's folder are not checked. `TransportManager` is checked in `hubline/transport` only: users
 * pass it on and do not call it. Helper types that `typedoc.json` lists as intentionally not exported are accepted.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import ts from 'typescript';

const dist = resolve('../../dist');
const { intentionallyNotExported } = JSON.parse(readFileSync('typedoc.json', 'utf8')) as {
  intentionallyNotExported: string[];
};
const transport = 'transports/index';
const entries = [
  'index',
  'agents/index',
  'dashboard/index',
  transport,
  'transports/postgres/index',
  'transports/redis/index',
  'transports/sqlite/index',
  'testing/index',
];
const files = entries.map((entry) => resolve(dist, `${entry}.d.ts`));
const program = ts.createProgram(files, {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  skipLibCheck: true,
});
const checker = program.getTypeChecker();

const original = (symbol: ts.Symbol): ts.Symbol =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;

const isDeclaredIn = (folder: string, { declarations = [] }: ts.Symbol): boolean =>
  declarations.some((declaration) => declaration.getSourceFile().fileName.startsWith(`${folder}/`));

function nameIn(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName;
  if (ts.isTypeQueryNode(node)) return node.exprName;
  // The base of a class need not be public: its members are shown with the class.
  const isBase = ts.isExpressionWithTypeArguments(node) && ts.isInterfaceDeclaration(node.parent.parent);
  return isBase ? node.expression : undefined;
}

function namedTypes(root: ts.Node): Set<ts.Symbol> {
  const found = new Set<ts.Symbol>();
  const visit = (node: ts.Node): void => {
    const name = nameIn(node);
    const symbol = name && checker.getSymbolAtLocation(name);
    if (symbol !== undefined) found.add(original(symbol));
    ts.forEachChild(node, visit);
  };
  visit(root);
  return found;
}

function exportsOf(file: string): Set<ts.Symbol> {
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  if (module === undefined) throw new Error(`${file} is missing: run npm run build first`);
  return new Set(checker.getExportsOfModule(module).map(original));
}

const forgotten = files.flatMap((file) => {
  const exported = exportsOf(file);
  const own = [...exported]
    .filter((symbol) => isDeclaredIn(dirname(file), symbol))
    .filter(({ name }) => name !== 'TransportManager' || file === resolve(dist, `${transport}.d.ts`));
  return own.flatMap((symbol) =>
    (symbol.declarations ?? [])
      .flatMap((declaration) => [...namedTypes(declaration)])
      .filter((named) => !(named.flags & ts.SymbolFlags.TypeParameter) && isDeclaredIn(dist, named))
      .filter((named) => !exported.has(named) && !intentionallyNotExported.includes(named.name))
      .map((named) => `${file}: ${symbol.name} refers to ${named.name}, which it does not export`),
  );
});

for (const line of new Set(forgotten)) console.error(line);
if (forgotten.length > 0) process.exitCode = 1;
