/**
 * Runs one suite and sends its rows to the parent process.
 *
 * @module
 */
import { suites } from './suites.js';

const rows = await suites[process.argv[2] ?? '']?.();
process.send?.(rows, () => process.exit(0));
