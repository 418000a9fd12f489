/**
 * Runs one suite and sends its rows to the process that forked this one.
 *
 * @module
 */
import { suites } from './suites.js';

const rows = await suites[process.argv[2] ?? '']?.();
process.send?.(rows, () => process.exit(0));
