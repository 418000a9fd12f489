import preact from '@preact/preset-vite';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    coverage: { provider: 'v8', include: ['server/**/*.ts', 'ui/**/*.{ts,tsx}'], exclude: ['**/*.generated.ts'] },
    projects: [
      {
        test: {
          name: 'server',
          environment: 'node',
          include: ['{server,scripts,examples}/**/*.test.ts'],
        },
      },
      {
        plugins: [preact()],
        test: {
          name: 'ui',
          environment: 'happy-dom',
          include: ['ui/**/*.test.{ts,tsx}'],
        },
      },
    ],
  },
});
