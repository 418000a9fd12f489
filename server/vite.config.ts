import { defineConfig, type Plugin } from 'vite';
import { bundledLicenses } from '../scripts/package/bundled-licenses.js';

const root = import.meta.dirname;

/** Packages whose code is part of the library, in chunks that are loaded on use: the vendors' formats, and zod for them. */
const bundled = /^(?:@ai-sdk\/|eventsource-parser\b|zod\b)/;

/**
 * Bundles the library by entry point, because Node loads a few files much faster than a hundred. `tsc` emits the
 * types.
 */
export default defineConfig({
  root,
  ssr: { noExternal: [bundled] },
  plugins: [bundledLicenses(), asciiOutput()],
  build: {
    ssr: true,
    outDir: '../dist',
    emptyOutDir: false,
    target: 'node20.19',
    minify: false,
    rolldownOptions: {
      input: {
        index: 'index.ts',
        'agents/index': 'agents/index.ts',
        'cli/main': 'cli/main.ts',
        'dashboard/index': 'dashboard/index.ts',
        'demo/main': '../examples/shop/main.ts',
        'demo/worker': '../examples/shop/worker.ts',
        'transports/index': 'transports/index.ts',
        'transports/postgres/index': 'transports/postgres/index.ts',
        'transports/redis/index': 'transports/redis/index.ts',
        'transports/sqlite/index': 'transports/sqlite/index.ts',
        'testing/index': 'testing/index.ts',
      },
      preserveEntrySignatures: 'strict',
      // Every other package is a dependency or an optional peer; the demo imports the library by its name.
      external: (id) => /^[^./]/.test(id) && !bundled.test(id),
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: ({ facadeModuleId }) => `chunks/${packageOf(facadeModuleId) ?? '[name]'}.js`,
        // The declarations have the docstrings.
        comments: { jsdoc: false },
        codeSplitting: {
          groups: [
            // What the vendors' packages share, once.
            { name: 'zod', test: /[\\/]node_modules[\\/]zod[\\/]/ },
            { name: 'ai-sdk', test: /[\\/]node_modules[\\/](?:@ai-sdk[\\/]provider|eventsource-parser)/ },
            // One file with everything that many entry points share, instead of ten small ones.
            { name: 'core', minShareCount: 4 },
            // The same for agents, without the code that they load on use.
            { name: 'agents', test: /[\\/]server[\\/]agents[\\/]/, minShareCount: 2 },
          ],
        },
      },
    },
  },
});

/** Returns the file name of a vendor's package, such as `ai-sdk-openai`. */
function packageOf(id: string | null): string | undefined {
  const name = /[\\/]node_modules[\\/]@ai-sdk[\\/]([^\\/]+)/.exec(id ?? '')?.[1];
  return name && `ai-sdk-${name}`;
}

/** Escapes other characters than ASCII, of which one makes a file twice as large in memory and slower to compile. */
function asciiOutput(): Plugin {
  const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return {
    name: 'ascii-output',
    apply: 'build',
    generateBundle(_, bundle) {
      for (const output of Object.values(bundle)) {
        if (output.type === 'chunk') output.code = output.code.replace(/[\u0080-\uffff]/g, escapeUnit);
      }
    },
  };
}
