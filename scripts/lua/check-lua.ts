import { dirname } from 'node:path';
import type { LuaFile } from './lua-file.js';

// Functions and tables of Lua 5.1 and of Redis that scripts may use.
const builtIns = new Set(
  'next type pairs ipairs select unpack error pcall assert tonumber tostring string table math redis cjson cmsgpack KEYS ARGV constants'.split(
    ' ',
  ),
);

/** Folders from low to high: a file includes parts of its own folder and of lower ones. The last one is the root. */
const folders = [
  'connection',
  'jobs',
  'statistics',
  'membership',
  'runs',
  'events',
  'dead-letters',
  'schedules',
  'consuming',
  '.',
];

/** Returns the defects of Lua files, each with the path and line. */
export function checkLua(files: ReadonlyMap<string, LuaFile>, constants: readonly string[]): readonly string[] {
  const all = [...files.values()];
  return [
    ...all.flatMap((file) => [...wrongIncludes(files, file), ...wrongNames(files, file), ...wrongStatements(file)]),
    ...repeatedNames(all),
    ...unusedParts(all),
    ...wrongConstants(all, constants),
  ];
}

function wrongIncludes(files: ReadonlyMap<string, LuaFile>, { path, includes, names }: LuaFile): string[] {
  return includes.flatMap((include) => {
    const part = files.get(include);
    if (part === undefined || part.command !== undefined) return [`${path}: ${include} is no part`];
    if (include >= path && dirname(include) === dirname(path) && reaches(files, part, path)) {
      return [`${path}: ${include} includes this file`];
    }
    if (folders.indexOf(dirname(include)) > folders.indexOf(dirname(path))) {
      return [`${path}: ${include} stands in a higher folder`];
    }
    const isUsed = [...part.names.declared.keys()].some((name) => names.free.has(name));
    return isUsed ? [] : [`${path}: uses nothing of ${include}`];
  });
}

function reaches(files: ReadonlyMap<string, LuaFile>, from: LuaFile, path: string, seen = new Set<LuaFile>()): boolean {
  if (seen.has(from)) return false;
  seen.add(from);
  return from.includes.some((include) => {
    const part = files.get(include);
    return include === path || (part !== undefined && reaches(files, part, path, seen));
  });
}

function wrongNames(files: ReadonlyMap<string, LuaFile>, { path, includes, names }: LuaFile): string[] {
  const included = new Set(includes.flatMap((include) => [...(files.get(include)?.names.declared.keys() ?? [])]));
  const unknown = [...names.free].filter(([name]) => !builtIns.has(name) && !included.has(name));
  return [
    ...unknown.map(([name, line]) => `${path}:${line}: ${name} is not declared here or in an included part`),
    ...[...names.unused].map(([name, line]) => `${path}:${line}: ${name} is not used`),
  ];
}

/** Commands share parts, and calls share their variables: text that runs once declares, and keeps nothing of a call. */
function wrongStatements({ path, names }: LuaFile): string[] {
  return names.effects.map((line) => `${path}:${line}: belongs below --- @per-call`);
}

/** Scripts share their parts, so that a name stands for one thing in all of them. */
function repeatedNames(files: readonly LuaFile[]): string[] {
  const owners = new Map<string, string>();
  const defects: string[] = [];
  for (const { path, command, names } of files) {
    if (command !== undefined) {
      const owner = owners.get(`${command.name}()`);
      if (owner !== undefined) defects.push(`${path}: ${owner} has the same name`);
      owners.set(`${command.name}()`, path);
    }
    for (const [name, line] of names.declared) {
      const owner = builtIns.has(name) ? 'Lua' : owners.get(name);
      if (owner !== undefined) defects.push(`${path}:${line}: ${name} is also declared by ${owner}`);
      owners.set(name, path);
    }
  }
  return defects;
}

function unusedParts(files: readonly LuaFile[]): string[] {
  const free = new Set(files.flatMap(({ names }) => [...names.free.keys()]));
  return files.flatMap(({ path, names: { declared, used } }) =>
    [...declared]
      .filter(([name]) => !free.has(name) && !used.has(name))
      .map(([name, line]) => `${path}:${line}: ${name} is not used`),
  );
}

function wrongConstants(files: readonly LuaFile[], constants: readonly string[]): string[] {
  const used = new Map<string, string>();
  for (const { path, loaded, perCall } of files) {
    for (const [, name = ''] of `${loaded}\n${perCall}`.matchAll(/\bconstants\.(\w+)/g)) used.set(name, path);
  }
  return [
    ...[...used]
      .filter(([name]) => !constants.includes(name))
      .map(([name, path]) => `${path}: there is no constants.${name}`),
    ...constants.filter((name) => !used.has(name)).map((name) => `no Lua uses constants.${name}`),
  ];
}
