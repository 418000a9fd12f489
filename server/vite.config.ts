import { defineConfig } from 'vite';

const root = import.meta.dirname;

/**
 * Bundles the library by entry point, because Node loads a few files much faster than a hundred. `tsc` emits the
 * types.
 */
export default defineConfig({
  root,
  ssr: { noExternal: ['zod'] },
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
      // Everything that is not a file of the library is a dependency; the demo imports the library by its name. It alone
      // needs zod.
      external: /^(?!zod\b)[^./]/,
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: 'chunks/[name].js',
        // One file with everything that many entry points share, instead of ten small ones.
        codeSplitting: { groups: [{ name: 'core', minShareCount: 4 }] },
      },
    },
  },
});
