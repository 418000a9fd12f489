import type { Plugin } from 'vite';

/**
 * Returns a plugin that shortens the names of custom properties and of classes in the built page. What finds elements of
 * that page by their classes translates these with `built`.
 */
export function shortNames(): Plugin {
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
      const names = shortClasses(css, code);
      const shorten = (text: string): string => text.replace(hyphenated, (name) => names.get(name) ?? name);
      for (const script of scripts) script.code = shorten(script.code);
      for (const sheet of sheets) sheet.source = shorten(shortenProperties(String(sheet.source), code));
      const source = JSON.stringify(Object.fromEntries(names));
      this.emitFile({ type: 'asset', fileName: 'short-classes.json', source });
    },
  };
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
 * Returns short names of the hyphenated classes of a style sheet that scripts name whole: except those that they compose
 * of parts, or that are words of CSS too.
 *
 * @throws if the style sheet has a class that reads like a short name
 */
export function shortClasses(css: string, scripts: string): ReadonlyMap<string, string> {
  const classes = new Set(css.match(/(?<=\.)[a-z]\w*(?:-\w+)+(?![\w-])/g));
  const composed = [...new Set(scripts.match(/(?<![\w-])[a-z][\w-]*-(?=\$\{|["'`])/g))];
  const words = new Set(css.match(/(?<![\w.-])[a-z]\w*(?:-\w+)+(?![\w-])/g));
  const whole = new Set(scripts.match(hyphenated));
  const isComposed = (name: string): boolean => composed.some((part) => name.startsWith(part));
  const names = [...classes].filter((name) => whole.has(name) && !words.has(name) && !isComposed(name));
  const alike = css.match(/(?<=\.)[a-z]{1,2}(?![\w-])/);
  if (alike !== null) throw new Error(`rename the class ${alike[0]}: it may become the short name of another class`);
  return new Map(names.map((name, index) => [name, letters(index)]));
}

/** Returns a, b, …, z, aa, ab, … */
function letters(index: number): string {
  return (index < 26 ? '' : letters(Math.floor(index / 26) - 1)) + String.fromCharCode(97 + (index % 26));
}
