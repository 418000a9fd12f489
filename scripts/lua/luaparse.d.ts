declare module 'luaparse' {
  /** Node of a syntax tree; its other properties depend on its type. */
  export interface Node {
    readonly type: string;
    readonly loc: { readonly start: { readonly line: number } };
  }

  const luaparse: {
    /** @throws {SyntaxError} */
    parse(source: string, options: { luaVersion: '5.1'; locations: true; comments: false }): Node;
  };
  export default luaparse;
}
