import { agentTurn } from './agent-turn.js';
import { dispatch } from './dispatch.js';
import { importTime } from './import-time.js';
import type { Figure } from './measure.js';
import { memory } from './memory.js';
import { redis } from './redis.js';

function print(title: string, figures: readonly Figure[]): void {
  const base = figures[0]?.eventsPerSecond ?? 1;
  console.log(`\n${title}`);
  for (const { name, eventsPerSecond } of figures) {
    const rate = Math.round(eventsPerSecond).toLocaleString('en').padStart(12);
    console.log(`  ${name.padEnd(20)}${rate} /s   ${(eventsPerSecond / base).toFixed(3)} of the first`);
  }
}

console.log(`Node ${process.version}, ${process.platform} ${process.arch}`);
print('In-process dispatch of 100,000 events to one async handler, median of 5 rounds', await dispatch());
console.log('\nAgent turns: a model that answers at once, 5 turns with a tool and an answer, median of 5 rounds');
for (const { name, eventsPerSecond } of await agentTurn()) {
  console.log(`  ${name.padEnd(20)}${(1e6 / eventsPerSecond).toFixed(1).padStart(8)} us a turn`);
}
console.log('\nImport in a new process, ms of processor time, the least of 10');
for (const entry of ['index.js', 'agents/index.js', 'dashboard/index.js']) {
  console.log(`  ${entry.padEnd(20)}${(await importTime(entry)).toFixed(1).padStart(6)}`);
}
console.log('\nHeap in use over 2,000,000 events of 100 types, in MB');
for (const { events, heapMegabytes } of await memory()) {
  console.log(`  ${events.toLocaleString('en').padStart(12)}  ${heapMegabytes.toFixed(1)}`);
}
const onRedis = await redis();
for (const { concurrency, figures } of onRedis.handled) {
  print(`Redis: emit and handle 5,000 events at concurrency ${concurrency}, median of 5 rounds`, figures);
}
print('Redis: emit 5,000 events, median of 5 rounds', onRedis.emitted);
const { pending, finished } = onRedis.bytes;
console.log(`\nRedis: ${Math.round(pending)} bytes a pending event, ${Math.round(finished)} a finished one`);
process.exit(0);
