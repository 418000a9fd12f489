import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

/**
 * Returns a plugin that shortens the names of custom properties and of classes in the built page.
 *
 * @param users folders of code that finds elements of the built page by their classes: these keep their names
 */
export function shortNames(users: readonly string[]): Plugin {
  return {
    name: 'short-names',
    // After Vite has written the style sheet.
    enforce: 'post',
    apply: 'build',
    generateBundle(_, bundle) {
      const outputs = Object.values(bundle);
      const scripts = outputs.flatMap((output) => (output.type === 'chunk' ? output : []));
      const sheets = outputs.flatMap((output) =>
        output.type === 'asset' && output.fileName.endsWith('.css') ? output : [],
      );
      const code = scripts.map((script) => script.code).join('\n');
      const css = sheets.map((sheet) => String(sheet.source)).join('\n');
      // A clone may have only some of them.
      const shorten = classShortener(css, code, users.filter(existsSync).flatMap(sourcesIn).join('\n'));
      for (const script of scripts) script.code = shorten(script.code);
      for (const sheet of sheets) sheet.source = shorten(shortenProperties(String(sheet.source), code));
    },
  };
}

function sourcesIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : sourcesIn(path);
    return path.endsWith('.ts') ? readFileSync(path, 'utf8') : [];
  });
}

/** Shortens the names of the custom properties that a style sheet declares, except of those that scripts name. */
export function shortenProperties(css: string, scripts: string): string {
  const declared = new Set(css.match(/(?<![\w-])--[a-z][\w-]*(?=\s*:)/g));
  const names = [...declared].filter((name) => !scripts.includes(name));
  const short = new Map(names.map((name, index) => [name, `--${index.toString(36)}`]));
  return css.replace(/(?<![\w-])--[a-z][\w-]*/g, (name) => short.get(name) ?? name);
}

const hyphenated = /(?<![\w-])[a-z]\w*(?:-\w+)+(?![\w-])/g;

/**
 * Returns a function that shortens the hyphenated classes of a style sheet that scripts name whole: except those that they
 * compose of parts, that `users` find, or that are words of CSS too.
 *
 * @throws if the style sheet has a class that reads like a short name
 */
export function classShortener(css: string, scripts: string, users: string): (text: string) => string {
  const classes = new Set(css.match(/(?<=\.)[a-z]\w*(?:-\w+)+(?![\w-])/g));
  const composed = [...new Set(scripts.match(/(?<![\w-])[a-z][\w-]*-(?=\$\{|["'`])/g))];
  const kept = new Set([
    ...(users.match(hyphenated) ?? []),
    ...(css.match(/(?<![\w.-])[a-z]\w*(?:-\w+)+(?![\w-])/g) ?? []),
  ]);
  const whole = new Set(scripts.match(hyphenated));
  const isComposed = (name: string): boolean => composed.some((part) => name.startsWith(part));
  const names = [...classes].filter((name) => whole.has(name) && !kept.has(name) && !isComposed(name));
  const short = new Map(names.map((name, index) => [name, `c${index.toString(36)}`]));
  const alike = css.match(/(?<=\.)c[\da-z]{1,2}(?![\w-])/);
  if (alike !== null) throw new Error(`rename the class ${alike[0]}: it may become the short name of another class`);
  return (text) => text.replace(hyphenated, (name) => short.get(name) ?? name);
}
