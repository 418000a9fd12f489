import luaparse, { type Node } from 'luaparse';

/** Names of a Lua text, by the line of their declaration or first use. */
export interface LuaNames {
  /** Local names of the text's top level. */
  readonly declared: ReadonlyMap<string, number>;
  /** Largest number of local names that are visible at one place outside of functions. */
  readonly mostVisible: number;
  /** Names that the text uses and does not declare. */
  readonly free: ReadonlyMap<string, number>;
  /** Names of the top level that the text uses itself. */
  readonly used: ReadonlySet<string>;
  /** Local names below the top level that nothing uses. */
  readonly unused: ReadonlyMap<string, number>;
  /** Lines of statements of the top level that do more than declare functions, variables and constants. */
  readonly effects: readonly number[];
}

interface Scope {
  readonly names: Map<string, { readonly line: number; isUsed: boolean }>;
  readonly outer: Scope | undefined;
}

/** Parses a Lua text and resolves its names. @throws {SyntaxError} if the text is no Lua 5.1 */
export function luaNames(source: string): LuaNames {
  const chunk = luaparse.parse(source, { luaVersion: '5.1', locations: true, comments: false });
  const resolver = new NameResolver();
  const top = resolver.resolve(chunk);
  return {
    declared: new Map([...top.names].map(([name, { line }]) => [name, line])),
    mostVisible: resolver.mostVisible,
    free: resolver.free,
    used: new Set([...top.names].filter(([, { isUsed }]) => isUsed).map(([name]) => name)),
    unused: resolver.unused,
    effects: nodesOf(chunk, 'body')
      .filter((statement) => !declares(statement))
      .map(lineOf),
  };
}

/** Walks a syntax tree with the scopes of Lua: a local name is visible after its declaration, in its block. */
class NameResolver {
  readonly free = new Map<string, number>();
  readonly unused = new Map<string, number>();
  mostVisible = 0;
  #visible = 0;
  #functions = 0;
  #scope: Scope | undefined;

  /** Returns the scope of the top level. */
  resolve(chunk: Node): Scope {
    const top: Scope = { names: new Map(), outer: undefined };
    this.#scope = top;
    this.#visitAll(chunk, 'body');
    return top;
  }

  #visit(node: Node): void {
    switch (node.type) {
      case 'Identifier':
        this.#use(node);
        break;
      case 'LocalStatement':
        this.#visitAll(node, 'init');
        this.#declareAll(node, 'variables');
        break;
      case 'AssignmentStatement':
        this.#visitAll(node, 'init');
        for (const variable of nodesOf(node, 'variables')) this.#assign(variable);
        break;
      case 'FunctionDeclaration':
        this.#visitFunction(node);
        break;
      case 'ForNumericStatement':
        for (const part of ['start', 'end', 'step']) this.#visitAll(node, part);
        this.#inBlock(node, 'variable');
        break;
      case 'ForGenericStatement':
        this.#visitAll(node, 'iterators');
        this.#inBlock(node, 'variables');
        break;
      case 'RepeatStatement':
        this.#inBlock(node, 'no variable', 'condition');
        break;
      case 'MemberExpression':
        this.#visitAll(node, 'base');
        break;
      case 'TableKeyString':
        this.#visitAll(node, 'value');
        break;
      default:
        this.#visitOther(node);
    }
  }

  /** Blocks of `do`, `while` and of the clauses of `if` are those with a body. */
  #visitOther(node: Node): void {
    for (const property of Object.keys(node)) if (property !== 'body') this.#visitAll(node, property);
    if ('body' in node) this.#inBlock(node, 'no variable');
  }

  #visitFunction(node: Node): void {
    if (propertyOf(node, 'isLocal') === true) this.#declareAll(node, 'identifier');
    else for (const name of nodesOf(node, 'identifier')) this.#assign(name);
    this.#functions += 1;
    this.#inBlock(node, 'parameters');
    this.#functions -= 1;
  }

  #inBlock(node: Node, variables: string, atEnd?: string): void {
    const scope: Scope = { names: new Map(), outer: this.#scope };
    const visible = this.#visible;
    this.#scope = scope;
    this.#declareAll(node, variables);
    this.#visitAll(node, 'body');
    if (atEnd !== undefined) this.#visitAll(node, atEnd);
    this.#scope = scope.outer;
    this.#visible = visible;
    for (const [name, { line, isUsed }] of scope.names) if (!isUsed && name !== '_') this.unused.set(name, line);
  }

  #visitAll(node: Node, property: string): void {
    for (const child of nodesOf(node, property)) this.#visit(child);
  }

  #declareAll(node: Node, property: string): void {
    for (const child of nodesOf(node, property)) {
      const name = propertyOf(child, 'name');
      if (typeof name !== 'string') continue;
      this.#scope?.names.set(name, { line: lineOf(child), isUsed: false });
      if (this.#functions > 0) continue;
      this.#visible += 1;
      this.mostVisible = Math.max(this.mostVisible, this.#visible);
    }
  }

  #use(node: Node): void {
    const found = this.#find(node);
    if (found !== undefined) found.isUsed = true;
  }

  /** A value that nothing reads is not used. */
  #assign(node: Node): void {
    if (node.type === 'Identifier') this.#find(node);
    else this.#visit(node);
  }

  #find(node: Node): { isUsed: boolean } | undefined {
    const name = String(propertyOf(node, 'name'));
    for (let scope = this.#scope; scope !== undefined; scope = scope.outer) {
      const found = scope.names.get(name);
      if (found !== undefined) return found;
    }
    if (!this.free.has(name)) this.free.set(name, lineOf(node));
    return undefined;
  }
}

function declares(statement: Node): boolean {
  if (statement.type === 'FunctionDeclaration') return true;
  // A block declares functions that the top level has declared as variables.
  if (statement.type === 'DoStatement') return nodesOf(statement, 'body').every(declares);
  return statement.type === 'LocalStatement' && nodesOf(statement, 'init').every(isConstant);
}

function isConstant(node: Node): boolean {
  if (node.type === 'TableConstructorExpression') {
    return (
      nodesOf(node, 'fields').length > 0 &&
      nodesOf(node, 'fields')
        .flatMap((field) => nodesOf(field, 'value'))
        .every(isConstant)
    );
  }
  const isNamed =
    node.type === 'MemberExpression' && nodesOf(node, 'base').some((base) => propertyOf(base, 'name') === 'constants');
  return isNamed || /^(?:Numeric|String|Boolean)Literal$/.test(node.type);
}

/** Returns the nodes in a property, which is a node, a list of nodes or something else. */
function nodesOf(node: Node, property: string): Node[] {
  const value = propertyOf(node, property);
  return (Array.isArray(value) ? value : [value]).filter(isNode);
}

function propertyOf(node: Node, property: string): unknown {
  return Reflect.get(node, property);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function lineOf(node: Node): number {
  return node.loc.start.line;
}
