import preact from '@preact/preset-vite';
import { defineConfig, loadEnv } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

const root = import.meta.dirname;

/** Builds the page into one HTML file; in development, proxies its JSON routes to a running dashboard. */
export default defineConfig(({ mode }) => {
  const { HUBLINE_API = 'http://127.0.0.1:4000' } = loadEnv(mode, root, 'HUBLINE_');
  return {
    root,
    plugins: [preact(), viteSingleFile()],
    build: {
      outDir: '../dist/page',
      emptyOutDir: true,
      target: ['chrome123', 'firefox128', 'safari17.5'],
      modulePreload: { polyfill: false },
    },
    server: { proxy: { '/api': HUBLINE_API } },
  };
});
