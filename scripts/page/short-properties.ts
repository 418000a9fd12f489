import type { Plugin } from 'vite';

/** Returns a plugin that shortens the names of custom properties in the built page. */
export function shortProperties(): Plugin {
  return {
    name: 'short-properties',
    // After Vite has written the style sheet.
    enforce: 'post',
    apply: 'build',
    generateBundle(_, bundle) {
      const outputs = Object.values(bundle);
      const scripts = outputs.flatMap((output) => (output.type === 'chunk' ? output.code : [])).join('\n');
      for (const output of outputs) {
        if (output.type === 'asset' && output.fileName.endsWith('.css')) {
          output.source = shortenProperties(String(output.source), scripts);
        }
      }
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
