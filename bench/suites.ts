import type { Row } from './row.js';

/** Suites by the name that `npm run bench -- NAME` takes. Each is loaded in its own process. */
export const suites: Readonly<Record<string, () => Promise<readonly Row[]>>> = {
  dispatch: async () => (await import('./dispatch.js')).dispatch(),
  runs: async () => (await import('./runs.js')).runs(),
  keys: async () => (await import('./keys.js')).keyedEvents(),
  agents: async () => (await import('./agent-turn.js')).agentTurn(),
  http: async () => (await import('./http.js')).http(),
  board: async () => (await import('./bull-board.js')).bullBoard(),
  imports: async () => (await import('./import-time.js')).importTime(),
  install: async () => (await import('./install-size.js')).installSize(),
  memory: async () => (await import('./memory.js')).memory(),
  page: async () => (await import('./page-bytes.js')).pageBytes(),
  tick: async () => (await import('./page-tick.js')).pageTick(),
  sqlite: async () => (await import('./sqlite.js')).sqlite(),
  redis: async () => (await import('./redis.js')).redis(),
  'redis-runs': async () => (await import('./redis-runs.js')).redisRuns(),
};
