type NodeCrypto = typeof import('node:crypto');

let loaded: NodeCrypto | undefined;

/** Returns Node's module `crypto`. Loaded on first use, because it took a fifth of the import of `hubline/agents`. */
export function nodeCrypto(): NodeCrypto {
  loaded ??= process.getBuiltinModule('node:crypto');
  return loaded;
}
