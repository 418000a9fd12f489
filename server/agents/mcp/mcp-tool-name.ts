import { nodeCrypto } from '../../node-crypto.js';

const maxLength = 64;
const hashLength = 8;

/**
 * Returns the name under which models see a tool of an MCP server. Every vendor accepts it: at most 64 letters, digits,
 * `_` and `-`, the first one no digit or `-`, and no name that every object has. A name that has to be changed ends in a
 * hash of the server's name, so that two tools never share a name, and the name of a tool does not depend on the others.
 */
export function mcpToolName(serverName: string, prefix: string): string {
  const full = `${prefix}${serverName}`;
  // Packages of vendors look names up in plain objects, which have a `constructor`.
  if (full.length <= maxLength && /^[A-Za-z_][\w-]*$/.test(full) && !(full in {})) return full;
  const readable = full.replaceAll(/[^\w-]/g, '_').replace(/^(?=[\d-])/, '_');
  const hash = nodeCrypto().createHash('sha256').update(serverName).digest('hex').slice(0, hashLength);
  return `${readable.slice(0, maxLength - hashLength - 1)}_${hash}`;
}
