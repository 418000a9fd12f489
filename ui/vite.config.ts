import { join } from 'node:path';
import preact from '@preact/preset-vite';
import { defineConfig, loadEnv } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';
import { bundledLicenses } from '../scripts/package/bundled-licenses.js';
import { shortNames } from '../scripts/page/short-names.js';

const root = import.meta.dirname;

/** Exports of `short-globals.ts`, by what they stand for in the built page. */
const shortGlobals = {
  undefined: 'nothing',
  'Math.max': 'mathMax',
  'Math.min': 'mathMin',
  'Math.round': 'mathRound',
  'Math.floor': 'mathFloor',
  'JSON.stringify': 'toJson',
};

/** Answers to the questions of libraries about their environment: it is a browser, without developer tools. */
const facts = {
  'typeof window': '"object"',
  'typeof requestAnimationFrame': '"function"',
  'window.__PREACT_SIGNALS_DEVTOOLS__': 'false',
};

/** Builds the page into one HTML file. The development server proxies the JSON routes to a running dashboard. */
export default defineConfig(({ command, mode }) => {
  const { HUBLINE_API = 'http://127.0.0.1:4000' } = loadEnv(mode, root, 'HUBLINE_');
  return {
    root,
    plugins: [
      command === 'serve' && preact(),
      bundledLicenses(),
      shortNames(),
      {
        name: 'without-indentation',
        transformIndexHtml: {
          order: 'post',
          // The scripts and styles are part of the page: nothing is requested.
          handler: (html) => html.replace(/\n\s+/g, '\n').replaceAll(' crossorigin', ''),
        },
      },
      viteSingleFile(),
    ],
    // Calls of `h` take children as arguments, which makes the built page smaller than the JSX runtime does.
    ...(command === 'build' && {
      oxc: {
        jsx: { runtime: 'classic', pragma: 'h', pragmaFrag: 'fragment' },
        jsxInject: `import { h, Fragment as fragment } from 'preact'`,
      },
    }),
    build: {
      outDir: '../dist/page',
      emptyOutDir: true,
      target: ['chrome123', 'firefox128', 'safari17.5'],
      modulePreload: { polyfill: false },
      // Constants that are inlined, or stay `const`, compress better than the `var` of a module's own scope.
      rolldownOptions: {
        transform: {
          define: { ...shortGlobals, ...facts },
          inject: Object.fromEntries(
            Object.values(shortGlobals).map((name) => [name, [join(root, 'short-globals.ts'), name]]),
          ),
        },
        optimization: { inlineConst: true },
        treeshake: { propertyReadSideEffects: false, unknownGlobalSideEffects: false },
        output: { topLevelVar: false },
      },
    },
    server: { proxy: { '/api': HUBLINE_API } },
  };
});
