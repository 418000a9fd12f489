/** Part of a Lua script that several scripts share: local functions and variables. */
export class LuaFragment {
  readonly lua: string;
  readonly includes: readonly LuaFragment[];
  readonly perCall: string;

  /**
   * @param lua runs once, when Redis loads the script: it declares functions and variables, and calls nothing
   * @param includes fragments whose functions and variables `lua` uses
   * @param perCall sets the variables at the beginning of each call, after those of `includes`
   */
  constructor(lua: string, includes: readonly LuaFragment[] = [], perCall = '') {
    this.lua = lua;
    this.includes = includes;
    this.perCall = perCall;
  }
}

/** Returns the fragments that a script needs, each once and after those that it includes itself. */
export function resolveIncludes(includes: readonly LuaFragment[]): readonly LuaFragment[] {
  const resolved = new Set<LuaFragment>();
  const visit = (fragment: LuaFragment): void => {
    if (resolved.has(fragment)) return;
    fragment.includes.forEach(visit);
    resolved.add(fragment);
  };
  includes.forEach(visit);
  return [...resolved];
}
