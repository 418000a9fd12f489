#!/usr/bin/env node
import { runCommandLine } from './command-line.js';

// Some versions of Node call their SQLite experimental each time.
process.removeAllListeners('warning');
process.on('warning', ({ name, message }) => {
  if (name !== 'ExperimentalWarning') process.stderr.write(`${name}: ${message}\n`);
});
process.exitCode = await runCommandLine(process.argv.slice(2), process);
