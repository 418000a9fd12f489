/**
 * Builds what the demo shop serves, and starts it.
 *
 * @module
 */
import buildLua from './lua/build-lua.js';
import { buildPage } from './page/build-page.js';
import buildSql from './sql/build-sql.js';

buildLua();
buildSql();
buildPage();
// Imports what was built.
await import('../examples/shop/main.js');
