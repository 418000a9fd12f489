import type { Row } from './measuring/row.js';

/** Suites by the name that `npm run bench -- NAME` takes. Each is loaded in its own process. */
export const suites: Readonly<Record<string, () => Promise<readonly Row[]>>> = {
  dispatch: async () => (await import('./events/dispatch.js')).dispatch(),
  runs: async () => (await import('./runs/runs.js')).runs(),
  keys: async () => (await import('./events/keys.js')).keyedEvents(),
  batches: async () => (await import('./events/batches.js')).batches(),
  schedules: async () => (await import('./events/schedules.js')).schedules(),
  hostile: async () => (await import('./events/hostile.js')).hostileClients(),
  agents: async () => (await import('./agents/agent-turn.js')).agentTurn(),
  'durable-agents': async () => (await import('./agents/durable-turn.js')).durableTurn(),
  http: async () => (await import('./dashboard/http.js')).http(),
  board: async () => (await import('./dashboard/bull-board.js')).bullBoard(),
  imports: async () => (await import('./package/import-time.js')).importTime(),
  install: async () => (await import('./package/install-size.js')).installSize(),
  memory: async () => (await import('./events/memory.js')).memory(),
  page: async () => [
    ...(await import('./dashboard/page-bytes.js')).pageBytes(),
    ...(await (await import('./dashboard/page-paint.js')).pagePaint()),
  ],
  tick: async () => (await import('./dashboard/page-tick.js')).pageTick(),
  waterfall: async () => (await import('./dashboard/waterfall.js')).waterfall(),
  sqlite: async () => (await import('./sqlite/sqlite.js')).sqlite(),
  postgres: async () => (await import('./postgres/postgres.js')).postgres(),
  'postgres-runs': async () => (await import('./postgres/postgres-runs.js')).postgresRuns(),
  'postgres-growth': async () => (await import('./postgres/growth.js')).postgresGrowth(),
  'postgres-contention': async () => (await import('./postgres/contention.js')).postgresContention(),
  redis: async () => (await import('./redis/redis.js')).redis(),
  lookup: async () => (await import('./redis/lookup.js')).lookUp(),
  'redis-runs': async () => (await import('./redis/redis-runs.js')).redisRuns(),
};
