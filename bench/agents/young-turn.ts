/**
 * Runs a contender 600 times, and sends its microseconds per turn to the parent process.
 *
 * @module
 */
import { turnsOfRun } from './adding-agent.js';
import { aiSdk, bareLoop, hubline } from './turn-contenders.js';

const turns = 600 * turnsOfRun;
const contender = process.argv[2];
const run = contender === 'hubline' ? hubline() : (contender === 'ai' ? aiSdk() : bareLoop()).run;

const startedAt = performance.now();
await run(turns);
process.send?.(((performance.now() - startedAt) * 1_000) / turns, () => process.exit(0));
